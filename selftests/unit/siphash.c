// SPDX-License-Identifier: GPL-2.0
/*
 * The hash of tools/bpf/hpccpp_tag.h, of as many bytes as the arguments say:
 *
 *	siphash KEY LENGTH...	the key in hexadecimal; bytes 00 01 02 ...
 *
 * prints a line for each, as openssl(1) does: "openssl mac ... SIPHASH".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpccpp_tag.h"

int main(int argc, char **argv)
{
	union {
		__u64 words[9];
		__u8 bytes[72];
	} in;
	struct hpccpp_key key;
	unsigned int i, b, len;
	__u64 h;

	if (argc < 2 || strlen(argv[1]) != 2 * sizeof(key))
		return 2;
	for (i = 0; i < sizeof(key); i++)
		if (sscanf(argv[1] + 2 * i, "%2hhx", (__u8 *)&key + i) != 1)
			return 2;
	for (i = 2; i < (unsigned int)argc; i++) {
		len = strtoul(argv[i], NULL, 10);
		if (len > 64)
			return 2;
		for (b = 0; b < sizeof(in); b++)
			in.bytes[b] = b < len ? b : 0xff;
		h = hpccpp_siphash(&key, in.words, len);
		for (b = 0; b < sizeof(h); b++, h >>= 8)
			printf("%02X", (unsigned int)(h & 0xff));
		putchar('\n');
	}
	return 0;
}
