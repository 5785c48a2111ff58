// SPDX-License-Identifier: GPL-2.0
/* What module_kernel.h declares of the kernel. */
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "module_kernel.h"

void kernel_check(bool holds, const char *what)
{
	if (!holds)
		fail_msg("the module breaks this: %s", what);
}

/* --- Memory --- */

int kernel_memory = -1;
int kernel_allocated;
int kernel_rcu;
int kernel_cpu;
size_t kernel_percpu;

static void *allocate(size_t size)
{
	void *memory = kernel_memory ? calloc(1, size) : NULL;

	kernel_memory -= kernel_memory > 0;
	kernel_allocated += !!memory;
	return memory;
}

void *kzalloc(size_t size, int flags)
{
	/* a flow begins in softirq */
	kernel_check(flags & GFP_ATOMIC, "memory in softirq is GFP_ATOMIC");
	return allocate(size);
}

void *kmemdup(const void *what, size_t size, int flags)
{
	void *memory = flags ? allocate(size) : NULL;

	return memory ? memcpy(memory, what, size) : NULL;
}

void kfree(const void *what)
{
	kernel_allocated -= !!what;
	free((void *)what);
}

void *kernel_alloc_percpu(size_t size)
{
	kernel_percpu = size;
	return allocate(KERNEL_CPUS * size);
}

/* --- Namespaces, sysctl and proc --- */

int init_user_ns;
struct net init_net = { .user_ns = &init_user_ns };
static struct pernet_operations *subsys;
const int kernel_sysctl[4] = { 0, 100, 1000, 1 };
struct ctl_table_header *kernel_knobs;
int (*kernel_proc_show)(struct seq_file *seq, void *v);
bool kernel_no_proc;

int register_pernet_subsys(struct pernet_operations *ops)
{
	int err;

	*ops->id = 7;
	subsys = ops;
	init_net.generic = calloc(1, ops->size);
	err = ops->init(&init_net);
	if (err)
		free(init_net.generic);
	return err;
}

void unregister_pernet_subsys(struct pernet_operations *ops)
{
	kernel_check(ops == subsys, "what goes is what came");
	ops->exit(&init_net);
	free(init_net.generic);
	subsys = NULL;
}

void *net_generic(const struct net *net, unsigned int id)
{
	kernel_check(id == 7, "a namespace is asked for our own");
	return net->generic;
}

struct ctl_table_header *register_net_sysctl_sz(struct net *net, const char *path,
						struct ctl_table *table, size_t n)
{
	struct ctl_table_header *header = allocate(sizeof(*header));

	kernel_check(net == &init_net && !strcmp(path, "net/hpccpp"), path);
	if (!header)
		return NULL;
	header->ctl_table_arg = table;
	header->n = n;
	kernel_check(!table[n].procname, "the table ends where it ends");
	kernel_knobs = header;
	return header;
}

struct ctl_table_header *register_net_sysctl(struct net *net, const char *path,
					     struct ctl_table *table)
{
	size_t n = 0;

	while (table[n].procname)
		n++;
	return register_net_sysctl_sz(net, path, table, n);
}

void unregister_net_sysctl_table(struct ctl_table_header *header)
{
	kernel_check(header == kernel_knobs, "what goes is what came");
	kernel_knobs = NULL;
	kfree(header);
}

int proc_dointvec_minmax(kernel_ctl_table *table, int write, void *buffer, size_t *len,
			 loff_t *pos)
{
	s64 value;

	kernel_check(table->maxlen == sizeof(int), table->procname);
	if (!write) {
		*len = snprintf(buffer, *len, "%d\n", *(int *)table->data);
		return 0;
	}
	value = strtoll(buffer, NULL, 10);
	if (value < *(int *)table->extra1 || value > *(int *)table->extra2)
		return -EINVAL;
	*(int *)table->data = value;
	return 0;
}

int proc_dostring(kernel_ctl_table *table, int write, void *buffer, size_t *len, loff_t *pos)
{
	if (write)
		snprintf(table->data, table->maxlen, "%.*s", (int)strcspn(buffer, "\n"),
			 (char *)buffer);
	else
		*len = snprintf(buffer, *len, "%s\n", (char *)table->data);
	return 0;
}

int match_string(const char * const *array, size_t n, const char *string)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(array[i], string))
			return i;
	return -EINVAL;
}

void seq_printf(struct seq_file *seq, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	seq->length += vsnprintf(seq->text + seq->length, sizeof(seq->text) - seq->length,
				 format, args);
	va_end(args);
	kernel_check(seq->length < sizeof(seq->text), "counters fit");
}

void *proc_create_net_single(const char *name, int mode, void *parent,
			     int (*show)(struct seq_file *seq, void *v), void *data)
{
	kernel_check(!strcmp(name, "hpccpp") && mode == 0444 && !parent && !data, name);
	if (kernel_no_proc)
		return NULL;
	kernel_proc_show = show;
	return show;
}

void remove_proc_entry(const char *name, void *parent)
{
	kernel_check(!strcmp(name, "hpccpp") && !parent, name);
	kernel_proc_show = NULL;
}

/* --- TCP --- */

struct tcp_congestion_ops *kernel_cc;
int kernel_cc_error;

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!kernel_cc_error)
		kernel_cc = ops;
	return kernel_cc_error;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	kernel_check(kernel_cc == ops, "what goes is what came");
	kernel_cc = NULL;
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), 77U);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	kernel_check(ack == tcp_sk(sk)->snd_una, "Reno is told of the ACK");
	tcp_snd_cwnd_set(tcp_sk(sk), tcp_snd_cwnd(tcp_sk(sk)) + acked);
}
