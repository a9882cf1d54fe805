/* SPDX-License-Identifier: GPL-2.0 */
/* Which helper a call instruction of a loaded program goes to. */
#ifndef CORE_AUDIT_KSYMS_H
#define CORE_AUDIT_KSYMS_H

#include <linux/types.h>

/* Name of the kernel's BPF function ("bpf_redirect", or "other" when it is none whose name starts
 * with bpf_) for the imm of a call as the kernel dumps it; NULL when the kernel hides addresses
 * (kernel.kptr_restrict) or there is none such. /proc/kallsyms is read at the first call.
 */
const char *bt_ksym_of_call(__s32 imm);

/* How many arguments the helper of that name takes: what is in the other registers is left over. 5
 * for one that is not known.
 */
unsigned int bt_ksym_args(const char *name);

#endif
