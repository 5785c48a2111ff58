// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp OBJECT change: what an agent was told, as `show` has it, stands for the keywords that
 * are not given.
 */
#include <stdio.h>
#include <string.h>

#include "hpccpp.h"

static bool is_true(struct json_object *row, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(row, key, &value) && json_object_get_boolean(value);
}

/* One value, in the words of the command line */
static int fill(struct argument *arg, enum field_form form, struct json_object *value)
{
	char text[64];
	int ret;

	snprintf(text, sizeof(text), "%s%s", json_object_get_string(value),
		 form == FORM_TIME ? "us" : "");
	ret = arg->parse(arg, text);
	if (!ret)
		arg->n++;
	return ret;
}

static int fill_argument(struct argument *arg, const struct field *f, struct json_object *row)
{
	struct json_object *value;
	size_t i;
	int ret = EXIT_DONE;

	if (!json_object_object_get_ex(row, f->key, &value))
		return EXIT_DONE;
	/* a rate that was read from the device is read again */
	if (f->form == FORM_RATE && !is_true(row, "rate_given"))
		return EXIT_DONE;
	if (!arg->parse)
		arg->n = json_object_get_boolean(value);
	else if (f->form != FORM_LIST)
		ret = fill(arg, f->form, value);
	else
		for (i = 0; i < json_object_array_length(value) && !ret; i++)
			ret = fill(arg, f->form, json_object_array_get_idx(value, i));
	return ret;
}

/* The arguments that are not given become those of the row, by the words of its fields. */
int fill_arguments(struct argument *args, size_t n, const struct field *fields,
		   struct json_object *row)
{
	const struct field *f;
	size_t i;
	int ret = EXIT_DONE;

	for (i = 0; i < n && !ret; i++) {
		for (f = fields; f->key && !args[i].n && !ret; f++) {
			if (f->word && !strcmp(f->word, args[i].name))
				ret = fill_argument(&args[i], f, row);
		}
	}
	return ret;
}
