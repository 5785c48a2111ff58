// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp save and hpccpp apply: all agents of a namespace as a file, and a file as all
 * agents of a namespace. A line is what "add" takes: object, place, words.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "hpccpp.h"

#define BLANKS		" \t\r\n"
#define LINE_WORDS	1024	/* words of a line: those of WORDS_LEN bytes are fewer */

static const char save_usage[] =
"Usage: hpccpp [ OPTIONS ] save\n"
"\n"
"Prints the agents of this namespace and of all cgroups in the form that \"apply\"\n"
"reads, a line each. See hpccpp(8).\n";

static const char apply_usage[] =
"Usage: hpccpp [ OPTIONS ] apply FILE [ dry-run ]\n"
"\n"
"Makes the agents those of FILE (- is standard input), which has a line for each:\n"
"\"port\", \"host\" or \"cnp\" and what its \"add\" takes. Blank lines and what follows a\n"
"# are left out; \\ takes the special meaning of the next character. All lines are\n"
"checked first. An agent that is there is replaced without a gap, one that is not\n"
"in FILE is deleted. dry-run prints what would be done: + added, ~ replaced,\n"
"- deleted. See hpccpp(8).\n";

static const struct kind {
	const char *object;	/* of the command */
	const char *place;	/* its keyword, and key in the row */
	int (*run)(int argc, char **argv);
	int (*read)(const char *place, struct json_object *rows);
} kinds[] = {
	{ "port", "dev", port_main, egress_rows },
	{ "port", "dev", ingress_main, ingress_rows },	/* lines with "ingress" */
	{ "cnp", "dev", cnp_main, cnp_rows },
	{ "host", "cgroup", host_main, host_rows },
};

/* A line of the file: an agent that is to be */
struct wanted {
	const struct kind *kind;
	char **argv;		/* of the kind's command: "replace", keyword, place, words */
	int argc;
	unsigned int line;
	struct json_object *words;	/* as the agent will keep them */
	bool several;		/* it is one of those that a line for several is for, */
	bool out;		/* ... of which this one cannot have it */
	bool there;		/* an agent is in its place ... */
	bool same;		/* ... with these words, and not stale */
};

static const char *text_of(struct json_object *row, const char *key)
{
	return json_object_get_string(json_object_object_get(row, key));
}

/* --- save ---------------------------------------------------------------------- */

static void print_word(const char *word)
{
	putchar(' ');
	for (; *word; word++) {
		if (strchr(" \t\\#", *word))
			putchar('\\');
		putchar(*word);
	}
}

static void print_agent(const struct kind *kind, const char *place, struct json_object *words)
{
	size_t i;

	fputs(kind->object, stdout);
	print_word(kind->place);
	print_word(place);
	for (i = 0; words && i < json_object_array_length(words); i++)
		print_word(json_object_get_string(json_object_array_get_idx(words, i)));
	putchar('\n');
}

/* One of another version has no words: it has been said. */
static void save_row(const struct kind *kind, struct json_object *row)
{
	struct json_object *words = json_object_object_get(row, "words");

	if (words)
		print_agent(kind, text_of(row, kind->place), words);
}

bool is_stale(struct json_object *row)
{
	struct json_object *why = json_object_object_get(row, "stale");

	return why && json_object_get_string_len(why);
}

/* Adds rows of a kind, one for each agent: of several queues the first. */
static int read_agents(const struct kind *kind, struct json_object *agents)
{
	struct json_object *rows = json_object_new_array(), *row, *last = NULL;
	int ret = kind->read(NULL, rows);
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		if (!json_object_get_uint64(json_object_object_get(row, "txq")))
			json_object_array_add(agents, json_object_get(row));
		else if (is_stale(row))		/* of a queue of the one before */
			put_str(last, "stale", text_of(row, "stale"));
		last = json_object_array_get_idx(agents, json_object_array_length(agents) - 1);
	}
	json_object_put(rows);
	return ret;
}

int save_main(int argc, char **argv)
{
	struct json_object *rows;
	int ret = EXIT_DONE;
	size_t i, k;

	if (wants_help(argc, argv, save_usage))
		return EXIT_USAGE;
	if (argc > 0)
		return usage_error("argument \"%s\" is unknown: save has none", argv[0]);
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		rows = json_object_new_array();
		ret = read_agents(&kinds[k], rows) ?: ret;
		for (i = 0; i < json_object_array_length(rows); i++)
			save_row(&kinds[k], json_object_array_get_idx(rows, i));
		json_object_put(rows);
	}
	return ret;
}

/* --- The lines of a file --------------------------------------------------------- */

/* Splits a line in place; how many words, or -1: more than there is room for */
static int split(char *line, char **words, int max)
{
	char *from = line, *to = line;
	int n = 0;

	for (;;) {
		from += strspn(from, BLANKS);
		if (!*from || *from == '#')
			return n;
		if (n == max)
			return -1;
		words[n++] = to;
		while (*from && !strchr(BLANKS, *from)) {
			if (*from == '\\' && from[1])
				from++;
			*to++ = *from++;
		}
		if (*from)
			from++;
		*to++ = '\0';
	}
}

/* Returns true if one of the words is "ingress" or abbreviates it, but not "id" or "ioam". */
static bool on_ingress(char **words, int n)
{
	while (n-- > 3) {
		if (strlen(words[n]) > 1 && !strncmp("ingress", words[n], strlen(words[n])))
			return true;
	}
	return false;
}

static int parse_line(struct wanted *w, char *line)
{
	char *argv[LINE_WORDS + 1] = { };
	int n = split(line, argv, LINE_WORDS);
	size_t i = 0;

	w->argc = 0;
	if (!n)
		return EXIT_DONE;
	if (n < 0)
		return usage_error("it has more than %u words", LINE_WORDS);
	while (i < ARRAY_SIZE(kinds) && strcmp(kinds[i].object, argv[0]))
		i++;
	if (i < ARRAY_SIZE(kinds) && kinds[i].run == port_main && on_ingress(argv, n))
		i++;	/* the next entry, of ingress_main() */
	if (i == ARRAY_SIZE(kinds))
		return usage_error("object \"%s\" is unknown: allowed are port, cnp, host",
				   argv[0]);
	w->kind = &kinds[i];
	if (n < 3 || strcmp(argv[1], w->kind->place))
		return usage_error("\"%s %s\" and its value have to be the first words",
				   w->kind->object, w->kind->place);
	argv[0] = "replace";
	w->argv = calloc(n + 1, sizeof(*argv));
	if (!w->argv)
		return system_error("no memory for %d words", n);
	memcpy(w->argv, argv, n * sizeof(*argv));
	w->argc = n;
	return EXIT_DONE;
}

static int append(struct wanted **list, size_t *n, const struct wanted *w)
{
	struct wanted *more = realloc(*list, (*n + 1) * sizeof(**list));

	if (!more)
		return system_error("no memory for %zu agents", *n + 1);
	more[(*n)++] = *w;
	*list = more;
	return EXIT_DONE;
}

/* All that is in the file, with an agent in each; the lines stay allocated. */
static int read_file(FILE *in, struct wanted **list, size_t *n)
{
	unsigned int line = 0;
	char where[32];
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int ret;

	for (; (len = getline(&text, &size, in)) >= 0; text = NULL, size = 0) {
		struct wanted w = { .line = ++line };

		snprintf(where, sizeof(where), "line %u", line);
		subject = where;
		if (strlen(text) != (size_t)len)
			ret = usage_error("byte %zu is a NUL: allowed is text", strlen(text) + 1);
		else
			ret = parse_line(&w, text);
		if (!ret && w.argc)
			ret = append(list, n, &w);
		subject = NULL;
		if (ret)
			return ret;
	}
	/* the end, and not what there was no memory for */
	ret = feof(in) && !ferror(in) ? EXIT_DONE : errno_error(errno, "cannot read the file");
	free(text);
	return ret;
}

/* --- apply ----------------------------------------------------------------------- */

/*
 * Runs an object's command in a process of its own, as what a command leaves behind, its
 * maps and a lock that it takes, is to go with it. Gives the words that the agent keeps.
 */
int run_apart(int (*run)(int argc, char **argv), int argc, char **argv, struct words *words)
{
	int ends[2], status, ret;
	struct words said = {};
	size_t have = 0;
	ssize_t got;
	pid_t pid;

	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC))
		return errno_error(errno, "cannot make a pipe");
	pid = fork();
	if (!pid) {
		memset(&given, 0, sizeof(given));
		ret = run(argc, argv);
		if (write(ends[1], &given, sizeof(given)) < 0)
			ret = ret ?: errno_error(errno, "cannot write to a pipe");
		fflush(NULL);
		_exit(ret);
	}
	close(ends[1]);
	/* it may take several reads, and be more than a pipe holds */
	while (pid > 0 && (got = read(ends[0], said.text + have, sizeof(said) - have)) > 0)
		have += got;
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return errno_error(errno, "cannot run \"%s\"", argv[0]);
	if (!WIFEXITED(status))
		return system_error("\"%s\" was ended by signal %d", argv[0], WTERMSIG(status));
	ret = WEXITSTATUS(status);
	if (!ret && words)
		*words = said;
	return ret;
}

/* A command that takes a place and no word */
int run_at(int (*run)(int argc, char **argv), const char *command, const char *keyword,
	   const char *place)
{
	char *argv[3];

	argv[0] = (char *)command;
	argv[1] = (char *)keyword;
	argv[2] = (char *)place;
	return run_apart(run, 3, argv, NULL);
}

/* Whether two places are one: devices have several names, and cgroups several paths. */
static bool is_place(const struct kind *kind, const char *a, const char *b)
{
	struct stat at, bt;

	if (!strcmp(a, b))
		return true;
	if (kind->read != host_rows)
		return if_nametoindex(a) && if_nametoindex(a) == if_nametoindex(b);
	return !stat(a, &at) && !stat(b, &bt) && at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
}

/* Deletes an agent that no line names, or marks the line that does. */
static int meet(const struct kind *kind, struct json_object *row, struct wanted *list, size_t n,
		bool dry)
{
	const char *place = text_of(row, kind->place);
	size_t i;

	for (i = 0; i < n; i++) {
		if (list[i].kind != kind || !is_place(kind, list[i].argv[2], place))
			continue;
		list[i].there = true;
		list[i].same = !is_stale(row) && json_object_equal(list[i].words,
			json_object_object_get(row, "words"));
		return EXIT_DONE;
	}
	if (!dry)
		return run_at(kind->run, "delete", kind->place, place);
	fputs("- ", stdout);
	print_agent(kind, place, json_object_object_get(row, "words"));
	return EXIT_DONE;
}

static bool has_kind(const struct wanted *list, size_t n, const struct kind *kind)
{
	while (n--) {
		if (list[n].kind == kind)
			return true;
	}
	return false;
}

/* Adds ports of which only the program on ingress is left: read_agents() goes by egress. */
static int add_halves(struct json_object *agents)
{
	struct json_object *rows = json_object_new_array(), *row;
	int ret = port_leftovers(rows);
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		if (json_object_get_boolean(json_object_object_get(row, "sure")))
			json_object_array_add(agents, json_object_get(row));
	}
	json_object_put(rows);
	return ret;
}

/*
 * All are read before one is deleted. An agent that cannot be read is deleted or replaced as
 * any. Host agents are the machine's: a file for a namespace without one leaves them alone.
 */
static int delete_others(struct wanted *list, size_t n, bool dry)
{
	struct json_object *rows[ARRAY_SIZE(kinds)];
	int ret = EXIT_DONE, err;
	size_t i, k;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		rows[k] = json_object_new_array();
		if (opt.netns && kinds[k].read == host_rows && !has_kind(list, n, &kinds[k]))
			continue;
		err = read_agents(&kinds[k], rows[k]);
		if (kinds[k].read == egress_rows)
			err = add_halves(rows[k]) ?: err;
		if (!json_object_array_length(rows[k]))
			ret = ret ?: err;
	}
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (i = 0; i < json_object_array_length(rows[k]) && !ret; i++)
			ret = meet(&kinds[k], json_object_array_get_idx(rows[k], i), list, n, dry);
		json_object_put(rows[k]);
	}
	return ret;
}

/* One line: checked only, or done. An error names the line, and the others go on. */
static int each(struct wanted *w, bool dry)
{
	struct words words;
	char text[32];
	int ret;

	snprintf(text, sizeof(text), "line %u", w->line);
	subject = text;
	opt.dry_run = dry;
	ret = run_apart(w->kind->run, w->argc, w->argv, &words);
	if (!ret && !w->words)
		w->words = list_words(&words);
	opt.dry_run = false;
	subject = NULL;
	return ret;
}

/* Whether a line is for several devices */
static bool is_several(const struct wanted *w)
{
	return (w->kind->run == port_main || w->kind->run == ingress_main) &&
	       names_devs(w->argv[2]);
}

static bool has_line(const struct wanted *list, size_t n, const struct kind *kind, const char *dev)
{
	while (n--) {
		if (list[n].kind == kind && is_place(kind, list[n].argv[2], dev))
			return true;
	}
	return false;
}

/* Makes of a line for several devices one for each that has none of its own. */
static int expand_line(struct wanted *w, const struct wanted *own, size_t owns,
		       struct wanted **list, size_t *n)
{
	struct json_object *names = json_object_new_array();	/* stay, as words of lines */
	int ret = each(w, true);
	char where[32];
	size_t i;

	snprintf(where, sizeof(where), "line %u", w->line);
	subject = where;
	if (!ret)
		ret = port_new_devs(w->argv[2], names);
	subject = NULL;
	for (i = 0; i < json_object_array_length(names) && !ret; i++) {
		struct wanted one = *w;

		one.argv = calloc(w->argc + 1, sizeof(*one.argv));
		if (!one.argv)
			return system_error("no memory for %d words", w->argc);
		memcpy(one.argv, w->argv, w->argc * sizeof(*one.argv));
		one.argv[2] = (char *)json_object_get_string(json_object_array_get_idx(names, i));
		one.words = NULL;
		one.several = true;
		if (!has_line(own, owns, one.kind, one.argv[2]))
			ret = append(list, n, &one);
	}
	return ret;
}

static int expand(struct wanted **list, size_t *n)
{
	struct wanted *lines = *list;
	size_t n_lines = *n, i;
	int ret = EXIT_DONE;

	*list = NULL;
	*n = 0;
	for (i = 0; i < n_lines && !ret; i++)
		ret = is_several(&lines[i]) ? expand_line(&lines[i], lines, n_lines, list, n) :
					      append(list, n, &lines[i]);
	free(lines);
	return ret;
}

/* Whether a cgroup is below another */
static bool is_below(const char *path, const char *other)
{
	char *full = realpath(path, NULL), *above = realpath(other, NULL);
	size_t len = above ? strlen(above) : 0;
	bool below = full && above && !strncmp(full, above, len) && full[len] == '/';

	free(full);
	free(above);
	return below;
}

/* One agent serves one place, and no cgroup below another's. */
static int twice(const struct wanted *list, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < i; k++) {
			const char *a = list[i].argv[2], *b = list[k].argv[2];

			if (list[i].kind != list[k].kind)
				continue;
			if (is_place(list[i].kind, a, b) ||
			    (list[i].kind->read == host_rows && (is_below(a, b) || is_below(b, a))))
				return usage_error("line %u is for \"%s\", and line %u for \"%s\"",
						   list[i].line, a, list[k].line, b);
		}
	}
	return EXIT_DONE;
}

static int apply(struct wanted *list, size_t n, bool dry)
{
	int ret = twice(list, n), left = EXIT_DONE, err;
	size_t i;

	for (i = 0; i < n && !ret; i++) {
		ret = each(&list[i], true);
		list[i].out = ret && list[i].several;
		if (list[i].out) {
			left = ret;
			ret = EXIT_DONE;
		}
	}
	if (!ret)
		ret = delete_others(list, n, dry);
	if (ret)
		return ret;
	ret = left;
	for (i = 0; i < n; i++) {
		if (list[i].same || list[i].out)
			continue;
		if (dry) {
			fputs(list[i].there ? "~ " : "+ ", stdout);
			print_agent(list[i].kind, list[i].argv[2], list[i].words);
			continue;
		}
		err = each(&list[i], false);
		ret = ret ?: err;
	}
	return ret;
}

int apply_main(int argc, char **argv)
{
	enum { FILE_NAME, DRY_RUN };
	const char *file = NULL;
	struct argument args[] = {
		[FILE_NAME] = { ARG("file", arg_text, &file), .bare = true },
		[DRY_RUN] = { .name = "dry-run" },
	};
	struct wanted *list = NULL;
	FILE *in = stdin;
	size_t n = 0;
	int ret;

	ret = wants_help(argc, argv, apply_usage);
	if (!ret)
		ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && !file)
		ret = usage_error("\"file\" is missing, try \"hpccpp apply help\"");
	if (!ret && strcmp(file, "-"))
		in = fopen(file, "re");
	if (!ret && !in)
		ret = errno_error(errno, "cannot open \"%s\"", file);
	if (ret)
		return ret;
	ret = read_file(in, &list, &n);
	/* not what a pipe leaves whose other end has failed */
	if (!ret && !n)
		ret = usage_error("file \"%s\" has no agent: delete those there are one by one",
				  file);
	if (!ret)
		ret = lock_agents() ?: expand(&list, &n) ?: apply(list, n, args[DRY_RUN].n);
	if (in != stdin)
		fclose(in);
	free(list);
	return ret;
}
