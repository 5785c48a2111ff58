// SPDX-License-Identifier: GPL-2.0
/* HPCC++: the sysctls net.hpccpp.* and /proc/net/hpccpp of each network namespace */

#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "tcp_hpccpp.h"

static const char * const hpccpp_guard_names[] = HPCCPP_GUARD_NAMES;

static const char * const hpccpp_stat_names[HPCCPP_S_MAX] = {
	[HPCCPP_S_ACKS]		= "acks",
	[HPCCPP_S_INT]		= "int",
	[HPCCPP_S_UPDATES]	= "updates",
	[HPCCPP_S_WINDOWS]	= "windows",
	[HPCCPP_S_NO_AGENT]	= "no_agent",
	[HPCCPP_S_NO_MEMORY]	= "no_memory",
	[HPCCPP_S_ENTER]	= "enter",
	[HPCCPP_S_FALLBACK]	= "fallback",
	[HPCCPP_S_BLIND]	= "blind",
	[HPCCPP_S_NO_INT]	= "no_int",
	[HPCCPP_S_MD_LOSS]	= "md_loss",
	[HPCCPP_S_MD_RTO]	= "md_rto",
	[HPCCPP_S_MD_CWR]	= "md_cwr",
	[HPCCPP_S_EXPLAINED]	= "explained",
	[HPCCPP_S_UNDO]		= "undo",
	[HPCCPP_S_PROBES]	= "probes",
};

unsigned int hpccpp_net_id __read_mostly;

static int hpccpp_eta_max = HPCCPP_ETA_MAX;
static int hpccpp_flows_max = 1000000;
static int hpccpp_base_rtt_max = HPCCPP_T_MAX;

static const char * const hpccpp_laws[HPCCPP_LAWS] = HPCCPP_LAW_NAMES;

/* Reads or writes net.hpccpp.law, by its name. Fails with -EINVAL if no law has that name. */
static int hpccpp_proc_law(hpccpp_ctl_table *table, int write, void *buffer, size_t *len,
			   loff_t *pos)
{
	char name[16];
	struct ctl_table text = { .data = name, .maxlen = sizeof(name) };
	int *law = table->data, found, err;

	strscpy(name, hpccpp_laws[READ_ONCE(*law)], sizeof(name));
	err = proc_dostring(&text, write, buffer, len, pos);
	if (err || !write)
		return err;
	found = match_string(hpccpp_laws, HPCCPP_LAWS, name);
	if (found < 0)
		return found;
	WRITE_ONCE(*law, found);
	return 0;
}

/* The one table of knobs; .data is an offset into struct hpccpp_net. */
#define HPCCPP_KNOB(field, handler, min, max) {				\
	.procname	= #field,					\
	.data		= (void *)offsetof(struct hpccpp_net, field),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= handler,					\
	.extra1		= min,						\
	.extra2		= max,						\
}

static const struct ctl_table hpccpp_knobs[] = {
	/* target utilisation of the most loaded link, percent; 0: the law's default */
	HPCCPP_KNOB(eta, proc_dointvec_minmax, SYSCTL_ZERO, &hpccpp_eta_max),
	/* N: flows expected on a link at the same time; 0: as receivers measure */
	HPCCPP_KNOB(flows, proc_dointvec_minmax, SYSCTL_ZERO, &hpccpp_flows_max),
	/* T, us; 0: the minimum RTT and four packets (D-T) */
	HPCCPP_KNOB(base_rtt_us, proc_dointvec_minmax, SYSCTL_ZERO, &hpccpp_base_rtt_max),
	/* T of idling after which a flow probes the path; 0: never */
	HPCCPP_KNOB(probe, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE_THOUSAND),
	/* rule by which W follows from the load: averaged or draft */
	HPCCPP_KNOB(law, hpccpp_proc_law, NULL, NULL),
	{ }
};

static int hpccpp_sysctl_register(struct net *net, struct hpccpp_net *hn)
{
	struct ctl_table *table;
	unsigned int i;

	table = kmemdup(hpccpp_knobs, sizeof(hpccpp_knobs), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(hpccpp_knobs) - 1; i++) {
		table[i].data = (void *)hn + (unsigned long)table[i].data;
		/* a user could take more than a fair share with a namespace of his own */
		if (net->user_ns != &init_user_ns)
			table[i].mode = 0444;
	}
	hn->sysctl = hpccpp_register_sysctl(net, "net/hpccpp", table,
					    ARRAY_SIZE(hpccpp_knobs) - 1);
	if (!hn->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void hpccpp_sysctl_unregister(struct hpccpp_net *hn)
{
	const struct ctl_table *table = hn->sysctl->ctl_table_arg;

	unregister_net_sysctl_table(hn->sysctl);
	kfree(table);
}

#ifdef CONFIG_PROC_FS
static int hpccpp_proc_show(struct seq_file *seq, void *v)
{
	struct hpccpp_net *hn = net_generic(seq_file_single_net(seq),
					    hpccpp_net_id);
	unsigned int i;
	int cpu;

	for (i = 0; i < HPCCPP_S_MAX; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(hn->stats, cpu)->c[i]);
		if (i < HPCCPP_S_GUARDS + HPCCPP_G_MAX)
			seq_printf(seq, "guard_%s %llu\n",
				   hpccpp_guard_names[i - HPCCPP_S_GUARDS],
				   sum);
		else
			seq_printf(seq, "%s %llu\n", hpccpp_stat_names[i], sum);
	}
	return 0;
}
#endif

static int __net_init hpccpp_net_init(struct net *net)
{
	struct hpccpp_net *hn = net_generic(net, hpccpp_net_id);
	int err;

	BUILD_BUG_ON(ARRAY_SIZE(hpccpp_guard_names) != HPCCPP_G_MAX);
	/* a larger flow would take 1024 bytes */
	BUILD_BUG_ON(sizeof(struct hpccpp_flow) > 512);

	hn->flows = HPCCPP_FLOWS;

	hn->stats = alloc_percpu(struct hpccpp_stats);
	if (!hn->stats)
		return -ENOMEM;
	err = hpccpp_sysctl_register(net, hn);
	if (err)
		goto err_stats;
#ifdef CONFIG_PROC_FS
	if (!proc_create_net_single("hpccpp", 0444, net->proc_net,
				    hpccpp_proc_show, NULL)) {
		err = -ENOMEM;
		goto err_sysctl;
	}
#endif
	return 0;

#ifdef CONFIG_PROC_FS
err_sysctl:
	hpccpp_sysctl_unregister(hn);
#endif
err_stats:
	free_percpu(hn->stats);
	return err;
}

static void __net_exit hpccpp_net_exit(struct net *net)
{
	struct hpccpp_net *hn = net_generic(net, hpccpp_net_id);

#ifdef CONFIG_PROC_FS
	remove_proc_entry("hpccpp", net->proc_net);
#endif
	hpccpp_sysctl_unregister(hn);
	free_percpu(hn->stats);
}

struct pernet_operations hpccpp_net_ops = {
	.init	= hpccpp_net_init,
	.exit	= hpccpp_net_exit,
	.id	= &hpccpp_net_id,
	.size	= sizeof(struct hpccpp_net),
};
