"""Parses the subset of Dockerfile syntax that this project uses."""
import json
import re


def stages(text):
    """Maps each stage's name to its instructions, as (WORD, argument) pairs that begin with FROM."""
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
    """Returns the argument of a stage's last `word` instruction; a list if it is written as one."""
    argument = [each for instruction, each in stage if instruction == word][-1]
    return json.loads(argument) if argument.startswith("[") else argument
