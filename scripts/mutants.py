#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Puts faults into C files, one at a time, and counts those that tests notice.

Judges all faults that edits_of() makes of the files, in a random order and in
copies of the tree, until N are in the sample. The tests of a file are the
programs *_test of selftests/Makefile that include it. They notice a fault if
one fails or reaches a limit. Faults that do not compile or do not change the
code, and accepted survivors, are not in the sample.
Exit status: 0 if at least 85 % were noticed, 1 if fewer, 2 after an error or
a signal. After a signal, prints the scores of the faults judged so far.
"""
import argparse
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Iterator, NamedTuple

GOAL = 85                       # percent
MOST_ACCEPTED = 20              # survivors
ACCEPTED = 'selftests/unit/survivors'
DEFAULT = 'kmod/*.[ch]', 'tools/bpf/*.[ch]'
LOADS = {'progs_test'}          # loads its programs into the kernel: not run
OUT = '../.build/mutants'       # seen from selftests/
# Tests run unoptimised, as most of the time is the compiler's. Whether a fault
# changes the code is seen with optimisation, in unused inline functions too.
RUN = '-O0 -Werror=return-type -Werror=uninitialized'
COMPARE = '-O2 -fkeep-inline-functions'
# The longest test takes 2.3 s of CPU time. It may have to wait for the CPU.
LIMITS = ('timeout --foreground -s KILL 600 '
          f'prlimit --cpu=20 --core=0 --as={4 << 30}').split()
KILLED = {-9: 'late', 128 + 9: 'late'}  # by prlimit, by timeout

# --- Faults ------------------------------------------------------------------

TOKEN = re.compile(r'''
    (?P<define>^[ \t]*\#[ \t]*define[ \t]+(?P<name>\w+)(?=[ \t])
        (?P<value>(\\\n|[^\n])*))
  | (?P<skip>^[ \t]*\#(\\\n|[^\n])*|/\*.*?\*/|//[^\n]*|\s+|\\\n)
  | (?P<text>"(\\.|[^"\\])*"|'(\\.|[^'\\])*')
  | (?P<number>\d[\w.]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>->|\+\+|--|<<=|>>=|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|.)
''', re.X | re.M | re.S)
FUNCTION = re.compile(r'^(?P<type>[a-z_][^;{}=]*\W)(?P<name>\w+)'
                      r'\(([^;{}()]|\([^()]*\))*\)\n(?P<body>\{$.*?^\})',
                      re.M | re.S)
SWAP = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==',
        '+': '-', '-': '+', '+=': '-=', '-=': '+=', '++': '--', '--': '++',
        '&&': '||', '||': '&&', 'true': 'false', 'false': 'true',
        'READ_ONCE': '', 'rcu_dereference': '', 'smp_load_acquire': '*'}


class Fault(NamedTuple):
    file: str
    line: int
    key: str                    # file: function: lines before -> after
    start: int                  # of what is replaced in the file
    end: int
    new: str


def tokens_of(text: str, start: int, end: int) -> list[re.Match[str]]:
    return [m for m in TOKEN.finditer(text, start, end)
            if m.lastgroup not in ('skip', 'define')]


def neighbours(number: str) -> list[str]:
    """Returns what replaces a constant: 0, 1, one less and one more."""
    m = re.fullmatch(r'(0[xX][\da-fA-F]+|\d+)([uUlL]*)', number)
    if not m:
        return []
    form = '{:#x}' if 'x' in m[1].lower() else '{}'
    value = int(m[1], 16 if 'x' in form else 10)
    return [form.format(n) + m[2]
            for n in sorted({0, 1, value + 1, abs(value - 1)} - {value})]


def statements_of(words: list[str], mates: dict[int, int], i: int, end: int
                  ) -> Iterator[tuple[bool, int, int]]:
    """Yields if it is a condition, its first and its last token.

    Skips declarations.
    """
    while i < end:
        first, word, after = i, words[i], words[i + 1]
        call = after == '(' and word.isidentifier()
        if word in ('{', '}', ';', 'else', 'do'):
            i += 1
        elif word in ('if', 'while', 'switch', 'for') and call:
            i = mates[i + 1] + 1
            begin, last = first + 2, i - 1
            if word == 'for':
                begin = words.index(';', begin) + 1
                last = words.index(';', begin)
            if word != 'switch' and begin < last:
                yield True, begin, last - 1
        elif word in ('case', 'default') or after == ':':
            i = words.index(':', i) + 1
        elif call and re.match(r'\w|\{', words[mates[i + 1] + 1]):
            i = mates[i + 1] + 1        # for_each_...(...) statement
        else:
            while i < end and words[i] != ';':
                i = mates.get(i, i) + 1
            declares = word.isidentifier() and (
                after.isidentifier() or after == '*')
            if i < end and (not declares or word in ('return', 'goto')):
                yield False, first, i
            i += 1


def edits_of(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yields start, end, new text and function of all possible faults.

    Negates a condition, deletes a statement or returns before it, replaces a
    constant, swaps an operator for another, deletes a barrier.
    """
    tokens = tokens_of(text, 0, len(text))
    words = [token[0] for token in tokens]
    mates, opened = {}, []              # closing bracket by the opening one
    for i, word in enumerate(words):
        if word in ('(', '[', '{'):
            opened.append(i)
        elif word in (')', ']', '}') and opened:
            mates[opened.pop()] = i
    function = ['-'] * len(tokens)
    for f in FUNCTION.finditer(text):
        first, *_, last = [i for i, token in enumerate(tokens)
                           if f.start('body') <= token.start() < f.end()]
        function[first:last] = [f['name']] * (last - first)
        leave = 'return;' if 'void' in f['type'].split() else 'return 0;'
        for is_condition, i, j in statements_of(words, mates, first, last):
            start, end = tokens[i].start(), tokens[j].end()
            if is_condition:
                # with a single comparison, that one is swapped below
                signs = set(words[i:j + 1])
                if signs & {'&&', '||', '?'} or not signs & {'==', '!='}:
                    yield start, end, f'!({text[start:end]})', f['name']
                continue
            yield start, end, '{}', f['name']
            if 'return' not in (words[i], words[j + 1]) and j + 1 != last:
                yield start, end, leave, f['name']
    parts = list(zip(tokens, function))
    for m in TOKEN.finditer(text):
        if m.lastgroup == 'define':
            parts += [(part, m['name'])
                      for part in tokens_of(text, *m.span('value'))]
    before = ''
    for part, name in parts:
        word = part[0]
        # outside functions, leave out widths of fields and sizes of arrays
        if part.lastgroup == 'number' and (
                name != '-' or before not in (':', '[')):
            for new in neighbours(word):
                yield *part.span(), new, name
        elif word in SWAP and (word not in ('+', '-') or re.match(
                r'(?!(return|case)$)[\w"\')\]]', before)):
            yield *part.span(), SWAP[word], name
        before = word


def faults_of(top: Path, file: str) -> list[Fault]:
    """Returns all possible faults of a file in the order of their places."""
    text = (top / file).read_text()
    faults = []
    for start, end, new, function in sorted(edits_of(text)):
        first = text.rfind('\n', 0, start) + 1
        rest = text[end:].split('\n', 1)[0]
        before, after = [' '.join((text[first:start] + part + rest).split())
                         for part in (text[start:end], new)]
        faults.append(Fault(file, text.count('\n', 0, start) + 1,
                            f'{file}: {function}: {before} -> {after}',
                            start, end, new))
    return faults


# --- Tests -------------------------------------------------------------------

class SetupError(Exception):
    pass


RUNNING: set['subprocess.Popen[str]'] = set()
STOP = threading.Event()
LOCK = threading.Lock()


def stop(*_: object) -> None:
    """Ends all commands and lets no other begin; also a signal's handler."""
    STOP.set()
    for process in list(RUNNING):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def run(tree: Path, *args: str) -> tuple[int, str]:
    """Runs a command in selftests/ of a tree; returns its status and output.

    Its temporary files, too, are in the tree, of which nothing stays.
    """
    process = subprocess.Popen(
        args, cwd=tree / 'selftests', process_group=0, text=True,
        errors='replace', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, 'TMPDIR': str(tree), 'MAKEFLAGS': ''})
    RUNNING.add(process)
    if STOP.is_set():
        stop()
    said = process.communicate()[0]
    RUNNING.discard(process)
    if STOP.is_set():
        raise InterruptedError
    return process.returncode, said


def build(tree: Path, test: str, flags: str) -> tuple[bytes, str]:
    """Returns the program, empty if it does not compile, and make's output."""
    status, said = run(tree, 'make', '-B', f'CFLAGS={flags}', f'O={OUT}',
                       f'{OUT}/{test}')
    made = tree / 'selftests' / OUT / test
    return b'' if status else made.read_bytes(), said


def check(tree: Path, test: str, flags: str = '') -> tuple[str, str]:
    """Returns 'broken', 'passed', 'noticed' or 'late', and make's output."""
    program, said = build(tree, test, RUN + flags)
    if not program:
        return 'broken', said
    status = run(tree, *LIMITS, f'{OUT}/{test}')[0]
    return {0: 'passed', **KILLED}.get(status, 'noticed'), said


@cache
def optimised(tree: Path, test: str) -> bytes:
    with LOCK:
        return build(tree, test, COMPARE)[0]


def judge(trees: 'queue.Queue[Path]', tests: list[str], fault: Fault) -> str:
    """Returns 'noticed', 'late' or 'survived', else 'broken' or 'same'."""
    tree = trees.get()
    path = tree / fault.file
    text = path.read_text()
    # the lines below keep their numbers, which assertions contain
    filler = '\n' * text.count('\n', fault.start, fault.end)
    path.write_text(text[:fault.start] + fault.new + filler + text[fault.end:])
    try:
        verdicts = set()
        for test in tests:
            verdicts.add(verdict := check(tree, test)[0])
            if verdict in ('noticed', 'late'):
                return verdict
        if 'broken' in verdicts:
            return 'broken'
        changed = any(build(tree, test, COMPARE)[0] !=
                      optimised(tree.parent / '0', test) for test in tests)
        return 'survived' if changed else 'same'
    finally:
        path.write_text(text)
        trees.put(tree)


# --- The sample --------------------------------------------------------------

def read_accepted(top: Path) -> set[str]:
    """Returns the accepted survivors: possible faults, each with a reason."""
    entries = re.findall(r'^([^#\s].*)\n(\t.*\S)?',
                         (top / ACCEPTED).read_text(), re.M)
    if len(entries) > MOST_ACCEPTED:
        raise SetupError(f'{ACCEPTED}: more than {MOST_ACCEPTED} entries')
    for entry, reason in entries:
        possible = {f.key for f in faults_of(top, entry.split(':')[0])}
        if entry not in possible or not reason:
            raise SetupError(f'{ACCEPTED}: ' + (
                'no reason below' if entry in possible else
                'no possible fault') + f': {entry}')
    return {entry for entry, _ in entries}


def report(counts: dict[str, 'Counter[str]'], stopped: bool) -> bool:
    """Prints the scores; returns true if the goal is reached."""
    total = sum(counts.values(), Counter[str]())
    print('Not in the sample:', total['broken'], 'do not compile,',
          total['same'], 'do not change the code,', total['accepted'],
          'accepted. Noticed by the time limit:', total['late'])
    for file, count in (*sorted(counts.items()), ('', total)):
        noticed = count['noticed'] + count['late']
        size = noticed + count['survived']
        percent = 100 * noticed // max(size, 1)
        if size or not file:
            print(f'{file}: ' * bool(file) + f'{noticed} of {size} noticed, '
                  f'{percent} %' + ' (stopped)' * stopped)
    return 100 * noticed >= GOAL * size > 0


def mutate(top: Path, files: list[str], wanted: int, seed: int, tmp: Path
           ) -> int:
    """Judges faults of the files; returns the exit status."""
    accepted = read_accepted(top)
    clean = tmp / '0'
    shutil.copytree(top, clean, symlinks=True, ignore=shutil.ignore_patterns(
        '.git', '.build', 'results', '*.o', '*.ko', '*.mod.c'))
    trees: 'queue.Queue[Path]' = queue.Queue()
    jobs = len(os.sched_getaffinity(0))
    for job in range(1, jobs + 1):
        trees.put(shutil.copytree(clean, tmp / str(job), symlinks=True))
    counts: dict[str, 'Counter[str]'] = {}
    pool = ThreadPoolExecutor(jobs)
    try:
        tests = sorted({*re.findall(rf'^{OUT}/(\w+_test):', run(
            clean, 'make', '-qp', f'O={OUT}')[1], re.M)} - LOADS)
        users: dict[str, list[str]] = {file: [] for file in files}
        for test, (verdict, said) in zip(tests, pool.map(
                lambda test: check(clean, test, ' -H'), tests)):
            if verdict != 'passed':
                raise SetupError(f'{test}: fails without a fault\n{said}')
            # the files that the program is compiled from
            words = {os.path.normpath(f'selftests/{w}') for w in said.split()}
            for file in words & users.keys():
                users[file].append(test)
        print(*[f'{file}: no unit test covers it\n'
                for file in files if not users[file]], sep='', end='')
        counts = {file: Counter() for file in files if users[file]}
        faults = [f for file in counts for f in faults_of(clean, file)]
        if not faults:
            raise SetupError('no unit test covers ' + ', '.join(files))
        random.Random(seed).shuffle(faults)
        for fault, verdict in zip(faults, pool.map(
                lambda f: 'accepted' if f.key in accepted else
                judge(trees, users[f.file], f), faults)):
            counts[fault.file][verdict] += 1
            if verdict == 'survived':
                print(f'{fault.file}:{fault.line}' +
                      fault.key.removeprefix(fault.file), flush=True)
            wanted -= verdict in ('noticed', 'late', 'survived')
            if not wanted:
                break
    except InterruptedError:
        report(counts, True)
        return 2
    finally:
        stop()
        pool.shutdown(cancel_futures=True)
    return not report(counts, False)


def main() -> int:
    top = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=(__doc__ or '')[:78])
    parser.add_argument('-n', type=int, help='faults in the sample at most; '
                        'default: 400, or 100 with FILE')
    parser.add_argument('-s', type=int, default=1, help='seed of the random '
                        'order; default: 1')
    parser.add_argument('FILE', nargs='*', help='relative to the top; '
                        'default: ' + ', '.join(DEFAULT))
    args = parser.parse_args()
    files = [os.path.normpath(file) for file in args.FILE] or sorted(
        str(file.relative_to(top)) for g in DEFAULT for file in top.glob(g)
        if not file.name.endswith('.mod.c'))
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, stop)
    try:
        with tempfile.TemporaryDirectory(prefix='mutants.') as tmp:
            return mutate(top, files, args.n or (100 if args.FILE else 400),
                          args.s, Path(tmp))
    except (SetupError, OSError) as error:
        print(f'mutants.py: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
