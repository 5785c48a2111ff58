/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps of cnp.bpf.c for user-space tests, with few entries, so that they fill up.
 * After bpf_shim.h and cnp.bpf.c.
 */
#define FLOWS	4
#define PAIRS	8

static struct hpccpp_cnp_cfg the_cnp;
static __u64 cnp_counts[HPCCPP_CS_MAX];
static struct hpccpp_cnp_flow flows[FLOWS];

struct table {
	const void *map;
	__u32 kind, key, value, room;
	__u8 *keys;
	void *values;
	__u64 *used;		/* when an entry was written, counted; 0: free */
};

#define ROOM(storage)	(sizeof(storage) / sizeof((storage)[0]))
#define TABLE_IN(m, n, storage) {					\
	.map = &(m), .kind = sizeof(*(m).type) / sizeof(int),		\
	.key = sizeof(*(m).key), .value = sizeof(*(m).value),		\
	.room = n, .keys = (__u8[(n) * sizeof(*(m).key)]) {},		\
	.values = storage, .used = (__u64[n]) {} }
#define TABLE(m, n)	TABLE_IN(m, n, ((typeof(*(m).value)[n]) {}))

static struct table tables[] = {
	TABLE_IN(cnp, 1, &the_cnp),
	TABLE_IN(cnp_stats, HPCCPP_CS_MAX, cnp_counts),
	TABLE_IN(cnp_flows, FLOWS, flows),
	TABLE(cnp_accept, 2),
	TABLE(cnp_detour, 2),
	TABLE(cnp_trace_to, 2),
	TABLE(cnp_qps, PAIRS),
	TABLE(cnp_wire, 1),
	TABLE(cnp_heard, PAIRS),
	TABLE(cnp_senders, PAIRS),
	TABLE(cnp_space, 1),
	TABLE(cnp_answers, 1),
	TABLE(cnp_asked, PAIRS),
	TABLE(cnp_walks, 1),
	TABLE(cnp_new, 1),
};

static __u64 table_writes;

static void tables_clear(void)
{
	struct table *t;

	for (t = tables; t < tables + ROOM(tables); t++) {
		__builtin_memset(t->values, 0, t->value * t->room);
		__builtin_memset(t->used, 0, sizeof(*t->used) * t->room);
	}
}

/* NULL: no map of this agent */
static struct table *table_of(const void *map)
{
	struct table *t;

	for (t = tables; t < tables + ROOM(tables); t++) {
		if (t->map == map)
			return t;
	}
	return NULL;
}

static bool table_matches(const struct table *t, __u32 i, const void *key)
{
	const void *entry = t->keys + i * t->key;

	if (t->kind != BPF_MAP_TYPE_LPM_TRIE)
		return !__builtin_memcmp(entry, key, t->key);
	return prefix_matches(entry, key);
}

static void *table_lookup(struct table *t, const void *key)
{
	__u32 i;

	if (t->kind == BPF_MAP_TYPE_ARRAY || t->kind == BPF_MAP_TYPE_PERCPU_ARRAY) {
		i = *(const __u32 *)key;
		return i < t->room ? t->values + i * t->value : NULL;
	}
	for (i = 0; i < t->room; i++) {
		if (t->used[i] && table_matches(t, i, key))
			return t->values + i * t->value;
	}
	return NULL;
}

static long table_update(struct table *t, const void *key, const void *value,
			 __u64 flags)
{
	void *there = table_lookup(t, key);
	__u32 i, to = 0;

	if (there && flags == BPF_NOEXIST)
		return -EEXIST;
	if (there) {
		__builtin_memcpy(there, value, t->value);
		return 0;
	}
	/* a free one, or the one that was written longest ago */
	for (i = 0; i < t->room; i++) {
		if (t->used[i] < t->used[to])
			to = i;
	}
	if (t->used[to] && t->kind != BPF_MAP_TYPE_LRU_HASH)
		return -E2BIG;
	t->used[to] = ++table_writes;
	__builtin_memcpy(t->keys + to * t->key, key, t->key);
	__builtin_memcpy(t->values + to * t->value, value, t->value);
	return 0;
}

static long table_delete(struct table *t, const void *key)
{
	__u32 i;

	for (i = 0; i < t->room; i++) {
		if (t->used[i] && table_matches(t, i, key)) {
			t->used[i] = 0;
			return 0;
		}
	}
	return -ENOENT;
}

static long table_each(struct table *t, void *callback, void *arg)
{
	long (*call)(const void *map, void *key, void *value, void *arg) = callback;
	__u32 i;

	for (i = 0; i < t->room; i++) {
		if (t->used[i] && call(t->map, t->keys + i * t->key,
				       t->values + i * t->value, arg))
			break;
	}
	return 0;
}
