"""The state of one walk over objects: the hash so far, what was seen, where the walk is, and its limits."""
import hashlib

MAX_OBJECTS = 2_000_000     # of a dataset; more take longer to walk than sharing could save
MAX_BYTES = 8 * 2**30       # of arrays, texts and files that are read to be hashed


class Opaque(Exception):
    """Something that the walk cannot see through; the text says what it is."""


class Walk:
    """A SHA-256 over tokens, each with its kind and its length, so that no two structures give the same bytes.

    `objects.walk` adds values to it. An object that comes again is a reference to its first occurrence, by the order of
    the walk, so cycles end and nothing depends on addresses.
    """

    def __init__(self):
        self._hash = hashlib.sha256()
        self._seen = {}
        self._kept = []  # keeps seen objects alive, so that no other gets the id of one
        self._bytes = 0
        self._memory = []  # of the arrays that were seen: (begin, end, first element)
        self.path = []
        self.packages = set()  # top-level names of the modules that were met
        self.libraries = {}    # what they are, by the names of their modules
        self.reads_environment = False  # whether code of the program may

    def token(self, kind, data=b""):
        """`data`: bytes or anything with a buffer, a text, or an integer."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        elif isinstance(data, int):
            data = str(data).encode()
        size = memoryview(data).nbytes
        self._bytes += size
        if self._bytes > MAX_BYTES:
            raise Opaque(f"more than {MAX_BYTES} bytes of data, which take too long to compare")
        self._hash.update(f"{kind}:{size}:".encode())
        self._hash.update(data)

    def seen(self, value):
        """Whether the value was here before; if so, a reference to it is added."""
        number = self._seen.get(id(value))
        if number is not None:
            self.token("again", number)
            return True
        if len(self._kept) >= MAX_OBJECTS:
            raise Opaque(f"more than {MAX_OBJECTS} objects, which take too long to compare")
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return False

    def apart(self, add):
        """The digest of what `add()` adds, from here: it may refer to what was seen before, and leaves nothing behind."""
        outer, known, noted = self._hash, len(self._kept), len(self._memory)
        self._hash = hashlib.sha256()
        try:
            add()
            self._add_memory(noted)
            return self._hash.digest()
        finally:
            self._hash = outer
            self._forget(known, noted)

    def note_library(self, name, add):
        """Adds a module of a library, once, as what `add()` adds, which refers to nothing outside: so it does not matter
        from where the walk comes to it first."""
        if name in self.libraries:
            return
        self.libraries[name] = ""  # which it is for what leads back to it
        outer = self._hash, self._seen, self._kept, self._memory
        self._hash, self._seen, self._kept, self._memory = hashlib.sha256(), {}, [], []
        try:
            add()
            self._add_memory()
            self.libraries[name] = self._hash.hexdigest()
        except BaseException:
            del self.libraries[name]
            raise
        finally:
            self._hash, self._seen, self._kept, self._memory = outer

    def attempt(self, add):
        """Adds what `add()` adds, or nothing if it raises Opaque, which then passes."""
        before, known, noted, depth = self._hash.copy(), len(self._kept), len(self._memory), len(self.path)
        libraries = dict(self.libraries)
        try:
            add()
        except Opaque:
            self._hash = before
            self._forget(known, noted)
            del self.path[depth:]
            self.libraries = libraries
            raise

    def _forget(self, known, noted):
        """All that was seen since `known` objects were, and the memory since `noted`."""
        for value in self._kept[known:]:
            del self._seen[id(value)]
        del self._kept[known:]
        del self._memory[noted:]

    def note_memory(self, begin, end, place):
        """An object that was just seen has its first element at address `place`, in memory from `begin` to `end`."""
        self._memory.append((begin, end, place))

    def _add_memory(self, noted=0):
        """Which objects are views of the same memory, if one of them came after `noted` others, and how far apart they
        begin. They are told by their order in the walk, not by addresses."""
        if len(self._memory) == noted or len(self._memory) < 2:
            return
        groups, reach = [], -1
        for begin, end, place, number in sorted((*each, number) for number, each in enumerate(self._memory)):
            if begin >= reach:
                groups.append([])
            groups[-1].append((number, place))
            reach = max(reach, end)
        shared = sorted(sorted(group) for group in groups if len(group) > 1)
        shared = [[(number, place - group[0][1]) for number, place in group]
                  for group in shared if group[-1][0] >= noted]
        if shared:
            self.token("shared memory", repr(shared))

    def digest(self):
        self._add_memory()
        self.token("libraries", repr(sorted(self.libraries.items())))
        return self._hash.hexdigest()
