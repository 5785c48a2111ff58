/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prevents compiler assumptions that the verifier cannot follow, and which differ between
 * versions of clang. For eBPF, after bpf_helpers.h.
 */
#ifndef HPCCPP_VERIFIER_H
#define HPCCPP_VERIFIER_H

/*
 * Returns x. The verifier knows the value of a constant x, but clang does not. So clang cannot
 * derive x from the condition that selects it, and cannot merge two loads.
 */
#define OPAQUE(x) ({ __u32 _x = (x); barrier_var(_x); _x; })

/*
 * A function that the verifier checks on its own, for any argument, and that may return anything.
 * As it is weak, clang cannot leave out checks of what it returns.
 */
#define SEPARATE	__attribute__((weak, noinline))

#endif /* HPCCPP_VERIFIER_H */
