// SPDX-License-Identifier: GPL-2.0
/*
 * Output. What is shown of an object is a row, a JSON object with numbers in
 * base units, and the object's table of fields says how a row is printed: as
 * text, as JSON, as a line of a table, or as samples for Prometheus.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpccpp.h"

#define CELL_LEN	320

struct options opt;

/* As tc prints them: the largest unit that loses nothing, or little. */
void rate_text(char *buf, size_t size, __u64 bps)
{
	static const char *const units[] = { "", "K", "M", "G", "T" };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(units) && bps >= 1000 &&
	       (bps % 1000 == 0 || bps >= 1000000)) {
		bps /= 1000;
		i++;
	}
	snprintf(buf, size, "%llu%sbit", bps, units[i]);
}

static void time_text(char *buf, size_t size, __u64 us)
{
	if (us && us % 1000000 == 0)
		snprintf(buf, size, "%llus", us / 1000000);
	else if (us && us % 1000 == 0)
		snprintf(buf, size, "%llums", us / 1000);
	else
		snprintf(buf, size, "%lluus", us);
}

/* Two units at most, or one decimal */
static void age_text(char *buf, size_t size, __u64 us)
{
	__u64 s = us / 1000000;

	if (us < 1000)
		snprintf(buf, size, "%lluus", us);
	else if (!s)
		snprintf(buf, size, "%llu.%llums", us / 1000, us / 100 % 10);
	else if (s < 60)
		snprintf(buf, size, "%llu.%llus", s, us / 100000 % 10);
	else if (s < 3600)
		snprintf(buf, size, "%llum%llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%lluh%llum", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%llud%lluh", s / 86400, s / 3600 % 24);
}

void put_num(struct json_object *row, const char *key, __u64 value)
{
	json_object_object_add(row, key, json_object_new_uint64(value));
}

/* With the three decimals that mean something */
void put_ratio(struct json_object *row, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", value);
	json_object_object_add(row, key, json_object_new_double_s(value, text));
}

/* A value in 1/2^20 */
void put_fixed(struct json_object *row, const char *key, __u32 value)
{
	put_ratio(row, key, (double)value / HPCCPP_ONE);
}

void put_str(struct json_object *row, const char *key, const char *value)
{
	json_object_object_add(row, key, json_object_new_string(value));
}

void put_bool(struct json_object *row, const char *key, bool value)
{
	json_object_object_add(row, key, json_object_new_boolean(value));
}

void put_list(struct json_object *row, const char *key, const __u16 *value, size_t n)
{
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_int(value[i]));
	json_object_object_add(row, key, list);
}

void put_counts(struct json_object *row, const char *key,
		const char *const *names, const __u64 *value, size_t n)
{
	struct json_object *counts = json_object_new_object();
	size_t i;

	for (i = 0; i < n; i++)
		put_num(counts, names[i], value[i]);
	json_object_object_add(row, key, counts);
}

static struct json_object *get(struct json_object *row, const char *key)
{
	return json_object_object_get(row, key);
}

/* A field's value as text; empty when the row does not have it. */
static const char *cell(char *buf, const struct field *f,
			struct json_object *row)
{
	struct json_object *v = get(row, f->key);
	const char *text = json_object_get_string(v);
	__u64 n = json_object_get_uint64(v);

	*buf = '\0';
	if (!v)
		return buf;
	switch (f->form) {
	case FORM_RATE:
		rate_text(buf, CELL_LEN, n);
		break;
	case FORM_TIME:
		time_text(buf, CELL_LEN, n);
		break;
	case FORM_AGE:
		age_text(buf, CELL_LEN, n);
		break;
	case FORM_BYTES:
		snprintf(buf, CELL_LEN, "%llub", n);
		break;
	case FORM_ADDRESS:	/* the port is the field after it */
		snprintf(buf, CELL_LEN, strchr(text, ':') ? "[%s]:%s" : "%s:%s",
			 text, json_object_get_string(get(row, f[1].key)));
		break;
	case FORM_FLAG:
		break;
	case FORM_EVERY:
		snprintf(buf, CELL_LEN, "%s", n ? text : "rtt");
		break;
	default:
		snprintf(buf, CELL_LEN, "%s", text);
	}
	return buf;
}

static void print_counts(struct json_object *counts)
{
	const char *between = "\n    ";

	json_object_object_foreach(counts, name, count) {
		if (!json_object_get_uint64(count))
			continue;
		printf("%s%s %s", between, name, json_object_get_string(count));
		between = " ";
	}
}

static void print_all_counts(const struct field *fields, struct json_object *row)
{
	const struct field *f;

	for (f = fields; f->key; f++) {
		if (f->form == FORM_COUNTS && get(row, f->key))
			print_counts(get(row, f->key));
	}
}

static void print_list(const char *word, struct json_object *list)
{
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++)
		printf(" %s %s", word, json_object_get_string(json_object_array_get_idx(list, i)));
}

static void print_suspects(const char *word, struct json_object *list)
{
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *peer = json_object_array_get_idx(list, i);

		printf("\n    %s %s left %ss", word,
		       json_object_get_string(get(peer, "address")),
		       json_object_get_string(get(peer, "left")));
	}
}

static void print_text(const struct field *fields, struct json_object *row);

static void print_below(const struct field *fields, struct json_object *rows)
{
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		printf("\n    ");
		print_text(fields, json_object_array_get_idx(rows, i));
	}
}

static void print_text(const struct field *fields, struct json_object *row)
{
	const char *between = "";
	const struct field *f;
	char buf[CELL_LEN];

	for (f = fields; f->key; f++) {
		struct json_object *v = get(row, f->key);
		const char *word = f->word;

		if (!v || !word)
			continue;
		if (f->form == FORM_COUNTS) {
			if (opt.stats)
				print_counts(v);
			continue;
		}
		if ((f->form == FORM_ALARM && !json_object_get_string_len(v)) ||
		    (f->form == FORM_SOME && !json_object_get_uint64(v)))
			continue;
		if (f->form == FORM_LIST) {
			print_list(word, v);
			continue;
		}
		if (f->form == FORM_SUSPECTS) {
			print_suspects(word, v);
			continue;
		}
		if (f->form == FORM_CNP_FLOWS) {
			print_below(cnp_flow_fields, v);
			continue;
		}
		if (f->form == FORM_VERSION &&
		    !strcmp(json_object_get_string(v), HPCCPP_VERSION))
			continue;
		if ((f->form == FORM_FLAG && !json_object_get_boolean(v)) ||
		    (f->form == FORM_TXQ && !json_object_get_boolean(get(row, "mq"))) ||
		    (f->form == FORM_HOOK && !strcmp(json_object_get_string(v), "egress")))
			continue;
		cell(buf, f, row);
		if (*word == '\n') {
			between = "\n    ";
			word++;
		}
		printf("%s%s%s%s", between, word, *word && *buf ? " " : "",
		       buf);
		between = " ";
	}
}

static void print_line(const struct field *fields, struct json_object *row)
{
	print_text(fields, row);
	putchar('\n');
}

/* That there are no rows: in the entry that ends the table of fields */
static void print_none(const struct field *fields)
{
	while (fields->key)
		fields++;
	if (fields->word)
		puts(fields->word);
}

/* In a table three digits will do: a column is to be narrow, and to be compared. */
static void three_digits(char *buf, double value, double unit, const char *const *units,
			 const char *end)
{
	while (value >= unit - .5 && units[1]) {
		value /= unit;
		units++;
	}
	snprintf(buf, CELL_LEN, value < 100 ? "%.3g%s%s" : "%.0f%s%s", value, *units, end);
}

static const char *table_cell(char *buf, const struct field *f, struct json_object *row)
{
	static const char *const rates[] = { "", "K", "M", "G", "T", NULL };
	static const char *const sizes[] = { "", "K", "M", "G", NULL };
	struct json_object *v = get(row, f->key);

	*buf = '\0';
	if (v && f->form == FORM_RATE)
		three_digits(buf, json_object_get_double(v), 1000, rates, "bit");
	else if (v && f->form == FORM_BYTES)
		three_digits(buf, json_object_get_double(v), 1024, sizes, "b");
	else if ((f->form != FORM_TXQ || json_object_get_boolean(get(row, "mq"))) &&
		 (f->form != FORM_HOOK || !v || strcmp(json_object_get_string(v), "egress")))
		cell(buf, f, row);
	return buf;
}

/* The widths of the columns; 0 of one that has a name and no row fills */
static void measure_table(int *w, const struct field *fields, struct json_object *rows)
{
	char buf[CELL_LEN];
	size_t i;

	for (; fields->key; fields++, w++) {
		*w = 0;
		for (i = 0; i < json_object_array_length(rows) && fields->column; i++) {
			int len = strlen(table_cell(buf, fields,
						    json_object_array_get_idx(rows, i)));

			if (len > *w)
				*w = len;
		}
		if (*w && *w < (int)strlen(fields->column))
			*w = strlen(fields->column);
	}
}

/* A row, or with NULL the names of the columns */
static void print_cells(const struct field *fields, const int *w, struct json_object *row)
{
	const char *between = "";
	char buf[CELL_LEN];

	for (; fields->key; fields++, w++) {
		bool left = fields->form == FORM_TEXT || fields->form == FORM_HOOK ||
			    fields->form == FORM_ADDRESS;
		const char *text = row ? table_cell(buf, fields, row) : fields->column;

		if (!*w)
			continue;
		printf("%s%*s", between, left ? -*w : *w, text);
		between = "  ";
	}
}

/* One line for each row, and with -s one of its counters, under the columns' names. */
void print_table(const struct field *fields, struct json_object *rows)
{
	size_t n = json_object_array_length(rows), i;
	const struct field *f;
	int *width;

	if (!n) {
		print_none(fields);
		return;
	}
	for (f = fields; f->key; f++)
		;
	width = calloc(f - fields, sizeof(*width));
	if (!width) {
		system_error("no memory for a table");
		return;
	}
	measure_table(width, fields, rows);
	print_cells(fields, width, NULL);
	putchar('\n');
	for (i = 0; i < n; i++) {
		print_cells(fields, width, json_object_array_get_idx(rows, i));
		if (opt.stats)
			print_all_counts(fields, json_object_array_get_idx(rows, i));
		putchar('\n');
	}
	free(width);
}

/* --- UTF-8, which JSON and Prometheus want, and names are any bytes ---------- */

/* Bytes of the character that a text begins with; 0: it begins with none */
static size_t utf8_len(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len, i;

	if (*p < 0x80)
		return 1;
	if (*p < 0xc2 || *p > 0xf4)
		return 0;
	len = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	/* after these the second byte has a range of its own (RFC 3629) */
	if (*p == 0xe0)
		low = 0xa0;
	else if (*p == 0xed)
		high = 0x9f;
	else if (*p == 0xf0)
		low = 0x90;
	else if (*p == 0xf4)
		high = 0x8f;
	for (i = 1; i < len; i++) {
		if (p[i] < low || p[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

/*
 * The character at the start of a text in double quotes, and how many bytes it has. A
 * byte that begins none is \\xNN, the backslash escaped.
 */
static size_t print_char(const char *text)
{
	size_t len = utf8_len(text);

	if (len) {
		fwrite(text, 1, len, stdout);
		return len;
	}
	printf("\\\\x%02x", (unsigned char)*text);
	return 1;
}

/* --- Prometheus: its text format, units and names ------------------------- */

/* A label's value, with what the format escapes. */
static void print_label(const char *name, const char *value, char *between)
{
	printf("%c%s=\"", *between, name);
	while (*value) {
		if (*value != '\n' && *value != '"' && *value != '\\') {
			value += print_char(value);
			continue;
		}
		printf("\\%c", *value == '\n' ? 'n' : *value);
		value++;
	}
	putchar('"');
	*between = ',';
}

/* A sample: name and value are those of one of several counts, or NULL. */
static void print_sample(const struct field *fields, const struct field *f,
			 struct json_object *row, const char *name,
			 struct json_object *value)
{
	__u64 n = json_object_get_uint64(value);
	const struct field *l;
	char between = '{';

	fputs(f->metric, stdout);
	if (opt.netns)
		print_label("netns", opt.netns, &between);
	for (l = fields; l->key; l++) {
		if (l->metric && !*l->metric && get(row, l->key))
			print_label(l->key,
				    json_object_get_string(get(row, l->key)),
				    &between);
	}
	if (name)
		print_label("kind", name, &between);
	if (between == ',')
		putchar('}');
	switch (f->form) {
	case FORM_RATE:		/* bytes/s */
		printf(" %.17g\n", n / 8.);
		break;
	case FORM_ALARM:
		printf(" %u\n", !!json_object_get_string_len(value));
		break;
	case FORM_TIME:		/* seconds */
	case FORM_AGE:
		printf(" %.17g\n", n / 1e6);
		break;
	default:
		printf(" %s\n", json_object_get_string(value));
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

static void print_metric(const struct field *fields, const struct field *f,
			 struct json_object *rows)
{
	bool head = false;
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *v = get(row, f->key);

		if (!v)
			continue;
		if (!head)
			printf("# HELP %s %s\n# TYPE %s %s\n", f->metric,
			       f->help, f->metric,
			       ends_with(f->metric, "_total") ? "counter" :
								"gauge");
		head = true;
		if (f->form != FORM_COUNTS) {
			print_sample(fields, f, row, NULL, v);
			continue;
		}
		json_object_object_foreach(v, name, count)
			print_sample(fields, f, row, name, count);
	}
}

/* --- JSON, and rows that are printed as they are read -------------------------- */

static void new_line(unsigned int depth)
{
	if (opt.pretty)
		printf("\n%*s", 2 * depth, "");
}

/* A value that stands so deep in another; a line end in its text is json-c's own */
static void print_value(struct json_object *value, unsigned int depth)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text;

	flags |= opt.pretty ? JSON_C_TO_STRING_PRETTY : JSON_C_TO_STRING_PLAIN;
	text = json_object_to_json_string_ext(value, flags);
	while (*text) {
		size_t plain = 0;

		while (text[plain] && !(text[plain] & 0x80) && text[plain] != '\n')
			plain++;
		fwrite(text, 1, plain, stdout);
		text += plain;
		if (*text == '\n') {
			new_line(depth);
			text++;
		} else if (*text) {
			text += print_char(text);
		}
	}
}

void print_json(struct json_object *value)
{
	print_value(value, 0);
	putchar('\n');
}

/*
 * Flows are a time series each to Prometheus, which takes thousands and no millions. Of more
 * than these it has the totals alone.
 */
#define SERIES_MAX	1000

/* Prometheus wants all samples of a metric together: its rows are kept till the end. */
static void keep_series(struct printer *p, struct json_object *row)
{
	const char *kind;

	if (!p->kept)
		p->kept = json_object_new_array();
	if (p->totals) {
		if (!p->counts)
			p->counts = json_object_new_object();
		kind = json_object_get_string(get(row, p->totals->key));
		put_num(p->counts, kind, json_object_get_uint64(get(p->counts, kind)) + 1);
	}
	if (!p->totals || p->n <= SERIES_MAX) {
		json_object_array_add(p->kept, row);
		return;
	}
	json_object_put(row);
	if (p->n == SERIES_MAX + 1) {
		json_object_put(p->kept);
		p->kept = json_object_new_array();
		printf("# more than %u rows of %s, which are only counted\n", SERIES_MAX,
		       p->totals[1].metric);
	}
}

static void print_metrics(const struct field *fields, struct json_object *rows)
{
	const struct field *f;

	for (f = fields; f->key; f++) {
		if (f->metric && *f->metric)
			print_metric(fields, f, rows);
	}
}

static void print_totals(const struct printer *p)
{
	struct json_object *rows = json_object_new_array();

	json_object_object_foreach(p->counts, kind, count) {
		struct json_object *row = json_object_new_object();

		put_str(row, p->totals[0].key, kind);
		json_object_object_add(row, p->totals[1].key, json_object_get(count));
		json_object_array_add(rows, row);
	}
	print_metrics(p->totals, rows);
	json_object_put(rows);
}

void print_row(void *printer, struct json_object *row)
{
	struct printer *p = printer;

	p->n++;
	if (opt.output == OUTPUT_PROM) {
		keep_series(p, row);
		return;
	}
	if (opt.output == OUTPUT_JSON) {
		putchar(p->n == 1 ? '[' : ',');
		new_line(p->depth + 1);
		print_value(row, p->depth + 1);
	} else {
		print_line(p->fields, row);
	}
	json_object_put(row);
}

static void print_end(struct printer *p)
{
	if (opt.output == OUTPUT_JSON) {
		if (!p->n)
			putchar('[');
		new_line(p->depth);
		putchar(']');
		if (!p->depth)
			putchar('\n');
	} else if (opt.output == OUTPUT_TEXT && !p->n) {
		print_none(p->fields);
	}
	if (p->kept)
		print_metrics(p->fields, p->kept);
	if (p->counts)
		print_totals(p);
	json_object_put(p->kept);
	json_object_put(p->counts);
}

int end_rows(struct printer *p, int ret)
{
	if (!ret || p->n)
		print_end(p);
	return ret;
}

int show_rows(const struct field *fields, struct json_object *rows, int ret)
{
	struct printer p = { .fields = fields };

	print_rows(&p, rows);
	return end_rows(&p, ret);
}

/* All rows of an array, which goes */
void print_rows(struct printer *p, struct json_object *rows)
{
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++)
		print_row(p, json_object_get(json_object_array_get_idx(rows, i)));
	json_object_put(rows);
}

/* Before the rows of one of several objects, in the one object of JSON that has them all */
void begin_member(const char *key, bool first)
{
	if (opt.output != OUTPUT_JSON)
		return;
	putchar(first ? '{' : ',');
	new_line(1);
	printf("\"%s\":", key);
}

void end_members(void)
{
	if (opt.output != OUTPUT_JSON)
		return;
	new_line(0);
	puts("}");
}
