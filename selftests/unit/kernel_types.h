/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's types and the helpers' declarations, for eBPF programs in a user-space test */
#define BPF_NO_PRESERVE_ACCESS_INDEX
/* libc has these with other types */
#define int64_t		kernel_int64_t
#define uint64_t	kernel_uint64_t
#define wchar_t		kernel_wchar_t
#include "vmlinux.h"
#undef int64_t
#undef uint64_t
#undef wchar_t
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
