#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Puts faults into C files, one at a time, and counts those that tests notice.

Judges all faults that edits_of() makes of the files, in a random order and in
copies of the tree, until N are in the sample. The tests of a file are the
programs *_test of selftests/Makefile that include it. They notice a fault if
one fails, or takes ten times its usual duration. Faults that do not compile or
do not change the code, and accepted survivors, are not in the sample.
Exit status: 0 if at least 85 % were noticed, 1 if fewer, 2 after an error.
"""
import argparse
import os
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator, NamedTuple

GOAL = 85                       # percent
MOST_ACCEPTED = 20              # survivors
ACCEPTED = 'selftests/unit/survivors'
DEFAULT = 'kmod/*.[ch]', 'tools/bpf/*.[ch]'
LOADS = {'progs_test'}          # loads its programs into the kernel: not run
OUT = '../.build/mutants'       # seen from selftests/
STOP = threading.Event()        # the sample is complete
# Tests run unoptimised, as most of the time is the compiler's. Whether a fault
# changes the code is seen with optimisation, in unused inline functions too.
RUN = '-O0 -Werror=return-type -Werror=uninitialized'
COMPARE = '-O2 -fkeep-inline-functions'

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
SWAP = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==',
        '+': '-', '-': '+', '+=': '-=', '-=': '+=', '++': '--', '--': '++',
        '&&': '||', '||': '&&', 'true': 'false', 'false': 'true',
        'READ_ONCE': '', 'rcu_dereference': '', 'smp_load_acquire': '*'}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Fault(NamedTuple):
    file: str
    line: int
    function: str               # or macro
    text: str                   # lines before -> after
    start: int                  # of what is replaced in the file
    end: int
    new: str

    def key(self) -> str:       # as in the list of accepted survivors
        return f'{self.file}: {self.function}: {self.text}'


def tokens_of(text: str, start: int, end: int) -> list[Token]:
    return [Token(m.lastgroup or '', m[0], m.start(), m.end())
            for m in TOKEN.finditer(text, start, end)
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


def match_brackets(tokens: list[Token]) -> dict[int, int]:
    """Returns the index of the closing bracket for that of the opening one."""
    opened: list[int] = []
    mates = {}
    for i, token in enumerate(tokens):
        if token.text in ('(', '[', '{'):
            opened.append(i)
        elif token.text in (')', ']', '}') and opened:
            mates[opened.pop()] = i
    return mates


def functions_of(tokens: list[Token], mates: dict[int, int]
                 ) -> Iterator[tuple[str, str, int, int]]:
    """Yields name, statement to return early, first and last token of body."""
    opening = {last: first for first, last in mates.items()}
    i, head = 0, 0                      # head: start of the definition
    while i < len(tokens):
        if tokens[i].text == '{' and i in mates:
            at = opening.get(i - 1, 0) - 1
            returns = [t.text for t in tokens[head:max(at, 0)]]
            if at > 0 and tokens[at].text.isupper():    # BPF_PROG(name, ...)
                at += 2
            if at > 0 and tokens[at].kind == 'word' and \
                    tokens[i - 1].text == ')':
                void = 'void' in returns and '*' not in returns
                yield (tokens[at].text, 'return;' if void else 'return 0;',
                       i, mates[i])
            i = mates[i]
        if tokens[i].text in (';', '}'):
            head = i + 1
        i += 1


def statements_of(tokens: list[Token], mates: dict[int, int], i: int, end: int
                  ) -> Iterator[tuple[bool, int, int]]:
    """Yields if it is a condition, its first and its last token.

    Skips declarations.
    """
    while i < end:
        first, text, after = i, tokens[i].text, tokens[i + 1].text
        call = tokens[i].kind == 'word' and after == '('
        if text in ('{', '}', ';', 'else', 'do'):
            i += 1
        elif text in ('if', 'while', 'switch', 'for') and call:
            first, last = i + 2, mates[i + 1]
            if text == 'for':
                ends = [j for j in range(first, last) if tokens[j].text == ';']
                first, last = ends[0] + 1, ends[-1]
            if text != 'switch' and first < last:
                yield True, first, last - 1
            i = mates[i + 1] + 1
        elif text in ('case', 'default') or after == ':':
            while tokens[i].text != ':':
                i += 1
            i += 1
        elif call and (tokens[mates[i + 1] + 1].kind == 'word' or
                       tokens[mates[i + 1] + 1].text == '{'):
            i = mates[i + 1] + 1        # for_each_...(...) statement
        else:
            while i < end and tokens[i].text != ';':
                i = mates.get(i, i) + 1
            declares = tokens[first].kind == 'word' and (
                tokens[first + 1].kind == 'word' or after == '*')
            if i < end and (not declares or text in ('return', 'goto')):
                yield False, first, i
            i += 1


def edits_of(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yields start, end, new text and function of all possible faults.

    Negates a condition, deletes a statement or returns before it, replaces a
    constant, swaps an operator for another, deletes a barrier.
    """
    tokens = tokens_of(text, 0, len(text))
    mates = match_brackets(tokens)
    function = ['-'] * len(tokens)
    for name, leave, first, last in functions_of(tokens, mates):
        function[first:last] = [name] * (last - first)
        for is_condition, i, j in statements_of(tokens, mates, first, last):
            start, end = tokens[i].start, tokens[j].end
            if is_condition:
                # with a single comparison, that one is swapped below
                signs = {t.text for t in tokens[i:j + 1]}
                if signs & {'&&', '||', '?'} or not signs & {'==', '!='}:
                    yield start, end, f'!({text[start:end]})', name
                continue
            yield start, end, '{}', name
            if 'return' not in (tokens[i].text, tokens[j + 1].text) and \
                    j + 1 != last:
                yield start, end, leave, name
    parts = list(zip(tokens, function))
    for m in TOKEN.finditer(text):
        if m.lastgroup == 'define':
            parts += [(part, m['name'])
                      for part in tokens_of(text, *m.span('value'))]
    before = Token('', '', 0, 0)
    for part, name in parts:
        # outside functions, leave out widths of fields and sizes of arrays
        if part.kind == 'number' and (
                name != '-' or before.text not in (':', '[')):
            for new in neighbours(part.text):
                yield part.start, part.end, new, name
        elif part.text in SWAP and (part.text not in ('+', '-') or not (
                before.kind == 'sign' and before.text not in (')', ']') or
                before.text in ('return', 'case'))):
            yield part.start, part.end, SWAP[part.text], name
        before = part


def faults_of(top: Path, file: str) -> list[Fault]:
    """Returns all possible faults of a file in the order of their places."""
    text = (top / file).read_text()
    faults = []
    for start, end, new, function in sorted(edits_of(text)):
        first = text.rfind('\n', 0, start) + 1
        rest = text[end:].split('\n', 1)[0]
        shown = [' '.join((text[first:start] + middle + rest).split())
                 for middle in (text[start:end], new)]
        faults.append(Fault(file, text.count('\n', 0, start) + 1, function,
                            ' -> '.join(shown), start, end, new))
    return faults


# --- Tests -------------------------------------------------------------------

class SetupError(Exception):
    pass


def run(args: list[str], cwd: Path) -> tuple[int, str]:
    done = subprocess.run(args, cwd=cwd, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          errors='replace')
    return done.returncode, done.stdout


def must(args: list[str], cwd: Path) -> str:
    status, said = run(args, cwd)
    if status:
        raise SetupError(f'{shlex.join(args)}:\n{said[-2000:]}')
    return said


class Program:
    """A test program: how its sources are compiled, and linked.

    All its commands run in the folder selftests of a tree. Their paths are
    relative, so that they are the same in each copy.
    """

    def __init__(self, pristine: Path, name: str):
        self.pristine = pristine        # selftests/ of a tree without faults
        self.out = f'{OUT}/{name}'
        self.seconds = 0.0
        words: list[str] = []
        for line in must(['make', '-nB', '--no-print-directory', 'CFLAGS=',
                          f'O={OUT}', self.out], pristine).splitlines():
            if f'-o {self.out} ' in line:
                words = shlex.split(line)
            else:
                must(['sh', '-c', line], pristine)
        at = words.index('-o')
        self.sources = [w for w in words if w.endswith('.c')]
        self.libraries = [w for w in words if w.startswith('-l')]
        self.compile = [w for w in words[:at] + words[at + 2:]
                        if w not in self.sources + self.libraries]
        self.users: dict[str, list[str]] = {}   # sources, by included file
        for source in self.sources:
            said = must(self.compile + ['-MM', source], pristine)
            for path in said.split(':', 1)[1].replace('\\\n', '').split():
                path = os.path.normpath(os.path.join('selftests', path))
                self.users.setdefault(path, []).append(source)

    def object(self, source: str, suffix: str) -> str:
        return f'{self.out}.{os.path.basename(source)}{suffix}'

    def make(self, tree: Path, source: str, flags: str, made: str) -> bool:
        return not run([*self.compile, *flags.split(), '-c', source,
                        '-o', made], tree)[0]

    def test(self, tree: Path, objects: list[str], limit: float) -> str:
        """Links and runs it; returns a verdict, see judge()."""
        if run([self.compile[0], '-o', self.out, *objects, *self.libraries],
               tree)[0]:
            return 'broken'
        # a fault may allocate without end
        status = run(['prlimit', '--core=0', f'--as={4 << 30}', 'timeout',
                      '-k5', str(limit), self.out[len('../'):]],
                     tree.parent)[0]
        return {0: 'passed', 124: 'late', 137: 'late'}.get(status, 'noticed')

    def baseline(self) -> None:
        """Builds and runs it without a fault; sets its duration."""
        objects = [self.object(source, '.old') for source in self.sources]
        if not all(self.make(self.pristine, source, RUN, made)
                   for source, made in zip(self.sources, objects)):
            raise SetupError(f'{self.out}: does not build without a fault')
        start = time.monotonic()
        if self.test(self.pristine, objects, 3600) != 'passed':
            raise SetupError(f'{self.out}: fails without a fault')
        self.seconds = time.monotonic() - start

    def judge(self, tree: Path, file: str) -> str:
        """Returns 'broken', 'same', 'passed', 'noticed' or 'late'."""
        objects = {s: self.object(s, '.old') for s in self.sources}
        same = True
        for source in self.users[file]:
            old, new = objects[source], self.object(source, '.new')
            if not self.make(tree, source, RUN, new):
                return 'broken'
            objects[source] = new
            same &= (tree / new).read_bytes() == (tree / old).read_bytes()
        return 'same' if same else self.test(tree, list(objects.values()),
                                             max(10, 10 * self.seconds))

    def is_changed(self, tree: Path, file: str) -> bool:
        """Returns true if the fault changes the optimised code."""
        for source in self.users[file]:
            old = self.pristine / self.object(source, '.O2')
            new = self.object(source, f'.{tree.parent.name}')
            if not old.exists():
                self.make(self.pristine, source, COMPARE, new)
                (self.pristine / new).replace(old)
            if not self.make(tree, source, COMPARE, new) or \
                    (tree / new).read_bytes() != old.read_bytes():
                return True
        return False


def judge(trees: 'queue.Queue[Path]', tests: list[Program], fault: Fault
          ) -> str:
    """Returns 'noticed', 'late' or 'survived', else 'broken' or 'same'.

    This must not depend on the order of the tests, as their durations vary.
    """
    tree = trees.get()
    path = tree.parent / fault.file
    text = path.read_text()
    # the lines below keep their numbers, which assertions contain
    filler = '\n' * text.count('\n', fault.start, fault.end)
    path.write_text(text[:fault.start] + fault.new + filler + text[fault.end:])
    try:
        verdicts = []
        for program in tests:
            verdicts.append(program.judge(tree, fault.file))
            if verdicts[-1] in ('noticed', 'late') or STOP.is_set():
                return verdicts[-1]
        if 'broken' in verdicts:
            return 'broken'
        passed = [p for p, v in zip(tests, verdicts) if v == 'passed'] or tests
        changed = any(p.is_changed(tree, fault.file) for p in passed)
        return 'survived' if changed else 'same'
    finally:
        path.write_text(text)
        trees.put(tree)


# --- The sample --------------------------------------------------------------

def read_accepted(top: Path) -> set[str]:
    """Returns the accepted survivors: possible faults, each with a reason."""
    text = (top / ACCEPTED).read_text()
    entries = re.findall(r'^([^#\s].*)\n((?:\t.*\n)*)', text, re.M)
    if len(entries) > MOST_ACCEPTED:
        raise SetupError(f'{ACCEPTED}: more than {MOST_ACCEPTED} entries')
    for entry, reason in entries:
        file = entry.split(':')[0]
        if not (top / file).is_file() or \
                entry not in {fault.key() for fault in faults_of(top, file)}:
            raise SetupError(f'{ACCEPTED}: no possible fault: {entry}')
        if not reason.strip():
            raise SetupError(f'{ACCEPTED}: no reason below: {entry}')
    return {entry for entry, _ in entries}


def report(counts: dict[str, 'Counter[str]']) -> bool:
    """Prints the scores; returns true if the goal is reached."""
    total = sum(counts.values(), Counter[str]())
    for file, count in (*sorted(counts.items()), ('', total)):
        noticed = count['noticed'] + count['late']
        size = noticed + count['survived']
        if not file:
            print('Not in the sample:', count['broken'], 'do not compile,',
                  count['same'], 'do not change the code,', count['accepted'],
                  'accepted. Noticed by the time limit:', count['late'])
            if not size:
                raise SetupError('no fault is in the sample')
        if size:
            print(f'{file}: ' * bool(file) + f'{noticed} of {size} noticed, '
                  f'{100 * noticed // size} %')
    return 100 * noticed >= GOAL * size


def mutate(top: Path, files: list[str], wanted: int, seed: int, tmp: Path
           ) -> bool:
    """Judges faults of the files; returns true if the goal is reached."""
    accepted = read_accepted(top)
    jobs = len(os.sched_getaffinity(0))
    shutil.copytree(top, tmp / '0', symlinks=True,
                    ignore=shutil.ignore_patterns('.git', '.build', 'results',
                                                  '*.o', '*.ko', '*.mod.c'))
    pristine = tmp / '0/selftests'
    names = set(re.findall(rf'^{OUT}/(\w+_test):', run(
        ['make', '-qp', f'O={OUT}'], pristine)[1], re.M)) - LOADS
    pool = ThreadPoolExecutor(jobs)
    try:
        programs = list(pool.map(lambda name: Program(pristine, name),
                                 sorted(names)))
        tests = {file: [p for p in programs if file in p.users]
                 for file in files}
        if not any(tests.values()):
            raise SetupError('no unit test covers ' + ', '.join(files))
        for file in [file for file in files if not tests[file]]:
            print(f'{file}: no unit test covers it')
            del tests[file]
        list(pool.map(Program.baseline,
                      {p for programs in tests.values() for p in programs}))
        trees: 'queue.Queue[Path]' = queue.Queue()
        for job in range(1, jobs + 1):
            shutil.copytree(tmp / '0', tmp / str(job), symlinks=True)
            trees.put(tmp / str(job) / 'selftests')
        for programs in tests.values():
            programs.sort(key=lambda p: p.seconds)
        faults = [f for file in tests for f in faults_of(tmp / '0', file)]
        random.Random(seed).shuffle(faults)
        counts = {file: Counter[str]() for file in tests}
        for fault, verdict in zip(faults, pool.map(
                lambda f: 'accepted' if f.key() in accepted else
                judge(trees, tests[f.file], f), faults)):
            counts[fault.file][verdict] += 1
            if verdict == 'survived':
                print(f'{fault.file}:{fault.line}: {fault.function}: '
                      f'{fault.text}', flush=True)
            wanted -= verdict in ('noticed', 'late', 'survived')
            if not wanted:
                break
    finally:
        STOP.set()
        pool.shutdown(cancel_futures=True)
    return report(counts)


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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory(prefix='mutants.') as tmp:
            if args.n is not None and args.n < 1:
                raise SetupError(f'-n {args.n}: at least 1')
            wanted = args.n or (100 if args.FILE else 400)
            return not mutate(top, files, wanted, args.s, Path(tmp))
    except SetupError as error:
        print(f'mutants.py: {error}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
