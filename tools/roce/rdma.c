// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the process that has a queue pair, by rdma netlink, as `rdma resource show qp`
 * does. The command only shows it, so it reports no error: without RDMA, or without the
 * right to ask, there are no queue pairs.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_netlink.h>

#include "hpccpp.h"

static int nldev_dump(int cmd, const __u32 *index, mnl_cb_t cb, void *data)
{
	char buf[NETLINK_DUMP_SIZE];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd);
	if (index)
		mnl_attr_put_u32(nlh, RDMA_NLDEV_ATTR_DEV_INDEX, *index);
	return netlink_dump(NETLINK_RDMA, buf, cb, data);
}

static __u32 u32_of(const struct nlattr *attr)
{
	return mnl_attr_validate(attr, MNL_TYPE_U32) < 0 ? 0 : mnl_attr_get_u32(attr);
}

static void text_of(const struct nlattr *attr, char *to, size_t size)
{
	if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(to, size, "%s", mnl_attr_get_str(attr));
}

/* --- Devices ------------------------------------------------------------------- */

struct rdma_dev {
	__u32 index;
	char name[64];
};

struct rdma_devs {
	struct rdma_dev *dev;
	size_t n;
};

static int dev_cb(const struct nlmsghdr *nlh, void *data)
{
	struct rdma_devs *all = data;
	const struct nlattr *attr;
	struct rdma_dev *dev;

	dev = realloc(all->dev, (all->n + 1) * sizeof(*dev));
	if (!dev)
		return MNL_CB_ERROR;
	all->dev = dev;
	dev += all->n++;
	memset(dev, 0, sizeof(*dev));
	mnl_attr_for_each(attr, nlh, 0) {
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX)
			dev->index = u32_of(attr);
		else if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME)
			text_of(attr, dev->name, sizeof(dev->name));
	}
	return MNL_CB_OK;
}

struct on_netdev {
	__u32 ifindex;
	bool found;
};

static int port_cb(const struct nlmsghdr *nlh, void *data)
{
	struct on_netdev *on = data;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, 0) {
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_NDEV_INDEX &&
		    u32_of(attr) == on->ifindex)
			on->found = true;
	}
	return MNL_CB_OK;
}

/* --- Queue pairs ----------------------------------------------------------------- */

struct of_dev {
	struct queue_pairs *all;
	const char *name;
};

/* Reads the name of a process; it stays empty if the process is gone. */
static void read_comm(struct queue_pair *qp)
{
	char path[32], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", qp->pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(qp->comm, sizeof(qp->comm), f))
		qp->comm[strcspn(qp->comm, "\n")] = '\0';
	fclose(f);
	/* a process names itself: replace what would harm a terminal or JSON */
	for (p = qp->comm; *p; p++)
		if (!isascii(*p) || !isprint(*p))
			*p = '?';
}

static int entry_cb(const struct nlattr *entry, void *data)
{
	struct of_dev *of = data;
	struct queue_pairs *all = of->all;
	const struct nlattr *attr;
	struct queue_pair *qp;

	qp = realloc(all->qp, (all->n + 1) * sizeof(*qp));
	if (!qp)
		return MNL_CB_ERROR;
	all->qp = qp;
	qp += all->n++;
	memset(qp, 0, sizeof(*qp));
	snprintf(qp->rdma, sizeof(qp->rdma), "%s", of->name);
	mnl_attr_for_each_nested(attr, entry) {
		switch (mnl_attr_get_type(attr)) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
			qp->lqpn = u32_of(attr);
			break;
		case RDMA_NLDEV_ATTR_RES_RQPN:
			qp->rqpn = u32_of(attr);
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			qp->pid = u32_of(attr);
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			text_of(attr, qp->comm, sizeof(qp->comm));
			break;
		}
	}
	if (qp->pid)
		read_comm(qp);
	return MNL_CB_OK;
}

static int qp_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *list, *entry;
	int ret = MNL_CB_OK;

	mnl_attr_for_each(list, nlh, 0) {
		if (mnl_attr_get_type(list) != RDMA_NLDEV_ATTR_RES_QP)
			continue;
		mnl_attr_for_each_nested(entry, list) {
			if (ret == MNL_CB_OK)
				ret = entry_cb(entry, data);
		}
	}
	return ret;
}

/* Adds the queue pairs of a device, or none if the kernel does not tell. */
void read_queue_pairs(int ifindex, struct queue_pairs *all)
{
	struct rdma_devs devs = {};
	size_t i;
	int err;

	err = nldev_dump(RDMA_NLDEV_CMD_GET, NULL, dev_cb, &devs);
	for (i = 0; i < devs.n && !err; i++) {
		struct on_netdev on = { .ifindex = ifindex };
		struct of_dev of = { .all = all, .name = devs.dev[i].name };

		err = nldev_dump(RDMA_NLDEV_CMD_PORT_GET, &devs.dev[i].index, port_cb, &on);
		if (!err && on.found)
			err = nldev_dump(RDMA_NLDEV_CMD_RES_QP_GET, &devs.dev[i].index,
					 qp_cb, &of);
	}
	free(devs.dev);
}

/*
 * Finds the queue pair of a flow by its own number and, where the kernel tells it, the
 * peer's. NULL if there is none.
 */
const struct queue_pair *find_queue_pair(const struct queue_pairs *all, __u32 lqpn,
					 __u32 rqpn)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		const struct queue_pair *qp = &all->qp[i];

		if (qp->lqpn == lqpn && (!qp->rqpn || qp->rqpn == rqpn))
			return qp;
	}
	return NULL;
}
