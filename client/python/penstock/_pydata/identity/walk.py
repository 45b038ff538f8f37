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
        self.path = []
        self.packages = set()  # top-level names of the modules that were met
        self.scanned = set()   # names of the modules that were searched for replaced functions

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
        outer, known = self._hash, len(self._kept)
        self._hash = hashlib.sha256()
        try:
            add()
            return self._hash.digest()
        finally:
            self._hash = outer
            self._forget(known)

    def attempt(self, add):
        """Adds what `add()` adds, or nothing if it raises Opaque, which then passes."""
        before, known, depth = self._hash.copy(), len(self._kept), len(self.path)
        try:
            add()
        except Opaque:
            self._hash = before
            self._forget(known)
            del self.path[depth:]
            raise

    def _forget(self, known):
        """All that was seen since `known` objects were."""
        for value in self._kept[known:]:
            del self._seen[id(value)]
        del self._kept[known:]

    def digest(self):
        return self._hash.hexdigest()
