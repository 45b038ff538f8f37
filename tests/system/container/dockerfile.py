"""What a Dockerfile says, as far as this project's go: its stages, and what each does."""
import json
import re


def stages(text):
    """Stage's name → its instructions, each (WORD, argument), the first of them FROM."""
    text = re.sub(r"(?m)^\s*#.*\n", "", text)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    found, current = {"": []}, ""
    for line in filter(None, map(str.strip, lines)):
        word, argument = line.split(None, 1)
        if word == "FROM":
            current = argument.split(" AS ")[1]
            found[current] = []
        found[current].append((word, argument))
    return found


def last(stage, word):
    """The argument of a stage's last instruction of that name; a list, where it is written as one."""
    argument = [each for instruction, each in stage if instruction == word][-1]
    return json.loads(argument) if argument.startswith("[") else argument
