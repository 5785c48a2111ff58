/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps the compiler from assumptions that the verifier cannot follow. Each version of clang
 * makes others. For eBPF, after bpf_helpers.h.
 */
#ifndef HPCCPP_VERIFIER_H
#define HPCCPP_VERIFIER_H

/*
 * Returns x. The verifier knows the value of a constant x, and clang does not: it can neither
 * compute it from the condition that chooses it nor merge two loads.
 */
#define OPAQUE(x) ({ __u32 _x = (x); barrier_var(_x); _x; })

/*
 * A function that the verifier checks on its own, for any argument, and that may return anything.
 * As it is weak, clang cannot leave out checks of what it returns.
 */
#define SEPARATE	__attribute__((weak, noinline))

#endif /* HPCCPP_VERIFIER_H */
