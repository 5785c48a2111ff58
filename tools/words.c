// SPDX-License-Identifier: GPL-2.0
/*
 * The words that an agent was added with. They stay with it in the kernel, in a map that
 * its program has, so that save can print them, and change and watch give them again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "hpccpp.h"

#define WORDS_MAP	"hpccpp_words"

int bind_words(int prog)
{
	return prog_add_entry(prog, WORDS_MAP, &given, sizeof(given));
}

/* False: the agent has none, being of another version. */
static bool read_words(int prog, struct words *w)
{
	bool there = prog_find_entry(prog, WORDS_MAP, w, sizeof(*w));

	memset(w->text + sizeof(w->text) - 2, 0, 2);
	return there;
}

/* FNV-1a */
__u32 hash(__u32 h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		h = (h ^ *p++) * 16777619;
	return h;
}

__u32 hash_words(const struct words *w)
{
	return hash(HASH_BASIS, w->text, sizeof(w->text));
}

/* Whether an agent has words, and others than those with this hash */
bool has_other_words(int prog, __u32 told)
{
	struct words w;

	return read_words(prog, &w) && hash_words(&w) != told;
}

struct json_object *list_words(const struct words *w)
{
	struct json_object *list = json_object_new_array();
	const char *word;

	for (word = w->text; *word; word = next_word(word)) {
		json_object_array_add(list, json_object_new_string(word));
		word = next_word(word);
		if (*word)
			json_object_array_add(list, json_object_new_string(word));
	}
	return list;
}

void put_words(struct json_object *row, int prog)
{
	struct words w;

	if (read_words(prog, &w))
		json_object_object_add(row, "words", list_words(&w));
}

static struct argument *named(struct argument *args, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(args[i].name, name))
			return &args[i];
	}
	return NULL;
}

int parse_kept(int prog, struct argument *args, size_t n, struct words *w)
{
	bool *anew = calloc(n, sizeof(*anew));
	const char *word;
	struct argument *arg;
	int ret;
	size_t i;

	if (!anew)
		return system_error("no memory for %zu keywords", n);
	for (i = 0; i < n; i++)
		anew[i] = args[i].n;
	ret = read_words(prog, w) ? EXIT_DONE :
	      system_error("the agent is of another version, and has no words: replace it");
	for (word = w->text; !ret && *word; word = next_word(next_word(word))) {
		arg = named(args, n, word);
		if (!arg)
			ret = system_error("the agent was told \"%s\", which this version does not know: replace it",
					   word);
		else if (!anew[arg - args])
			ret = parse_entry(arg, next_word(word));
	}
	free(anew);
	return ret;
}

int keep_words(int prog, struct argument *args, size_t n)
{
	__u32 zero = 0;
	struct words w;
	const char *word;
	int ret = EXIT_DONE, map;

	if (!read_words(prog, &w))
		return EXIT_DONE;
	for (word = w.text; *word; word = next_word(next_word(word))) {
		if (!named(args, n, word) && !append_word(&given, word, next_word(word)))
			return system_error("no room for the words of the agent");
	}
	map = prog_map(prog, WORDS_MAP, sizeof(w));
	if (map < 0 || bpf_map_update_elem(map, &zero, &given, BPF_ANY))
		ret = prog_map_error(WORDS_MAP);
	if (map >= 0)
		close(map);
	return ret;
}
