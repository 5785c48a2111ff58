/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the unit tests of the command: captures what it prints, runs command lines. */
#ifndef HPCCPP_COMMAND_TEST_H
#define HPCCPP_COMMAND_TEST_H

#include <fnmatch.h>

#include "test.h"
#include "hpccpp.h"

/* A function of another file that a test only has to call */
#define STUB(function, value)	function { return value; }

static char *out, *err;		/* output and messages of the last run */
static bool discard;		/* output too large to keep: out stays empty */
static FILE *real_stdout, *real_stderr;

/* Captures stdout and stderr until release(). */
static inline void capture(void)
{
	static size_t out_len, err_len;

	free(out);
	free(err);
	out = NULL;
	real_stdout = stdout;
	real_stderr = stderr;
	stdout = discard ? fopen("/dev/null", "w") : open_memstream(&out, &out_len);
	stderr = open_memstream(&err, &err_len);
	assert_true(stdout && stderr);
}

static inline void release(void)
{
	fclose(stdout);
	fclose(stderr);
	stdout = real_stdout;
	stderr = real_stderr;
}

/* Runs a command with the words of a line, '' for an empty one; returns its status. */
static inline int run(int (*command)(int argc, char **argv), const char *line)
{
	static char words[512];
	char *argv[64], *save = NULL;
	int argc = 0, status;

	assert_true(strlen(line) < sizeof(words));
	strcpy(words, line);
	while ((argv[argc] = strtok_r(argc ? NULL : words, " ", &save))) {
		if (!strcmp(argv[argc], "''"))
			*argv[argc] = '\0';
		argc++;
	}
	capture();
	status = command(argc, argv);
	release();
	return status;
}

/* Fails unless the text matches the pattern: '*' stands for any characters. */
static inline void assert_like(const char *text, const char *pattern)
{
	if (fnmatch(pattern, text, FNM_NOESCAPE))
		fail_msg("\"%s\" is not like \"%s\"", text, pattern);
}

/* The same for a part of the text */
static inline void assert_has(const char *text, const char *pattern)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "*%s*", pattern);
	assert_like(text, whole);
}

/* Returns the object of JSON that the format yields; ' stands for ". */
static inline __attribute__((format(printf, 1, 2)))
struct json_object *object(const char *format, ...)
{
	struct json_object *value;
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	value = json_tokener_parse(text);
	assert_non_null(value);
	return value;
}

#define add_row(rows, ...)	json_object_array_add(rows, object(__VA_ARGS__))

/* Returns an entry of an object as plain JSON, "none" if there is none. */
static inline char const *entry(struct json_object *of, const char *key)
{
	struct json_object *value = json_object_object_get(of, key);

	return value ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE) : "none";
}

struct entry {
	const char *key, *value;	/* the last has no key */
};

static inline void check_entries(struct json_object *of, const struct entry *want)
{
	for (; want->key; want++) {
		if (strcmp(entry(of, want->key), want->value))
			fail_msg("%s is %s, not %s", want->key, entry(of, want->key), want->value);
	}
}

#define ENTRIES(...)	((const struct entry[]){ __VA_ARGS__, {} })
#define assert_entries(of, ...)	check_entries(of, ENTRIES(__VA_ARGS__))

#endif /* HPCCPP_COMMAND_TEST_H */
