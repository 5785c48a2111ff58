# SPDX-License-Identifier: GPL-2.0

KDIR	?= /lib/modules/$(shell uname -r)/build
PREFIX	?= /usr/local
SBINDIR	?= $(PREFIX)/sbin

# $(call llvm,TREE): LLVM=1 if clang built the kernel of that tree; not if LLVM is given
llvm = $(if $(filter undefined,$(origin LLVM)),$(if \
	$(shell grep -s '^CONFIG_CC_IS_CLANG=y' $(firstword $1)/.config),LLVM=1))

# $(call kbuild,TREE): arguments of make for modules of that tree, without BTF. The module needs
# none, and a pahole older than the kernel cannot generate it.
kbuild = -C $1 CONFIG_DEBUG_INFO_BTF_MODULES= $(call llvm,$1)

# $(call module,DIR,NAME): builds DIR/NAME.ko for the kernel of kdir. kbuild takes seconds to find that nothing has
# changed, as it repeats kmod/probe: it does not run if sources, kernel and arguments are those of the last build.
define module
@echo '  MODULE  $1/$2.ko'
+$(q)inputs="$(realpath $(firstword $(kdir))) $(kdir) $(LLVM) $(KCFLAGS) $(W) $$(cat $$(find $1 -name Makefile -o \
	-name Kbuild -o -name '*.[ch]' ! -name '*.mod.c' | sort) $(firstword $(kdir))/.config \
	$(firstword $(kdir))/Module.symvers 2>/dev/null | sha256sum)"; \
	[ -e $1/$2.ko ] && [ "$$inputs" = "$$(cat $1/inputs 2>/dev/null)" ] || { \
		rm -f $1/inputs; \
		$(MAKE) $(call kbuild,$(kdir)) M=$(abspath $1) modules $(if $(V),,>$1.log || { cat $1.log; exit 1; }) && \
		echo "$$inputs" >$1/inputs; }
endef

no_spaces = $(if $(word 2,$(CURDIR)),$(error kbuild needs a path without spaces: '$(CURDIR)'))

MAKEFLAGS += --no-print-directory
q := $(if $(V),,@)

# Where demo and check run: "native", the VM's kernel, "lab" or "lab-debug".
# What is more than a word is what is wrong.
place = $(call word_or_error,$(shell PLACE=$(PLACE) KERNEL=$(KERNEL) scripts/place.sh --print 2>&1))
word_or_error = $(if $(word 2,$1),$(error $1),$1)

all: modules tools

modules modules_install:
	@test -d $(KDIR) || { echo 'KDIR=$(KDIR): no kernel headers there' >&2; exit 1; }
	$(MAKE) $(call kbuild,$(KDIR)) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) $@

tools:
	$(q)$(MAKE) build-tools out=.build/native

install: modules_install
	$(q)$(MAKE) -C tools O=$(CURDIR)/.build/native/tools \
		PREFIX=$(PREFIX) SBINDIR=$(SBINDIR) $@
	$(if $(DESTDIR),,depmod $(release))

# The module's sources, for DKMS to build it for every kernel that is installed.
install-dkms:
	install -d $(DESTDIR)$(dkms_dir)/probe
	install -m 644 kmod/Makefile kmod/*.[ch] $(DESTDIR)$(dkms_dir)
	install -m 644 kmod/probe/*.c $(DESTDIR)$(dkms_dir)/probe
	sed 's/#MODULE_VERSION#/$(version)/' scripts/packaging/dkms.conf \
		>$(DESTDIR)$(dkms_dir)/dkms.conf

# Debian packages, in .build/deb. The build wants debian/ at the top, where it is
# only in this copy.
deb: deps-deb
	$(q)rm -rf .build/deb
	$(q)mkdir -p .build/deb/hpccpp-$(version)
	$(q)find COPYING Kbuild Makefile README.md kmod tools selftests scripts -type f \
		! -name '.*' ! -name '*.o' ! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' \
		! -name modules.order ! -name Module.symvers \
		| cpio --quiet -pdm .build/deb/hpccpp-$(version)
	$(q)mv .build/deb/hpccpp-$(version)/scripts/packaging/debian .build/deb/hpccpp-$(version)/
	$(q)cd .build/deb/hpccpp-$(version) && env -u MAKEFLAGS -u MFLAGS \
		dpkg-buildpackage -us -uc $(if $(V),,>../build.log 2>&1 || \
		{ cat ../build.log; exit 1; })
	$(q)ls .build/deb/*.deb

uninstall:
	$(q)$(MAKE) -C tools PREFIX=$(PREFIX) SBINDIR=$(SBINDIR) $@
	[ ! -d $(DESTDIR)/lib/modules/$(release) ] || \
		find $(DESTDIR)/lib/modules/$(release) -name 'tcp_hpccpp.ko*' -delete
	$(if $(DESTDIR),,depmod $(release))

# Not `make kernelrelease`: with Debian's headers that is another name than what
# modules_install and modprobe go by.
release = $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h 2>/dev/null), \
	$(error KDIR=$(KDIR): no kernel headers there))

version = $(shell sed -n 's/^MODULE_VERSION("\(.*\)");/\1/p' kmod/hpccpp_main.c)
dkms_dir = /usr/src/tcp-hpccpp-$(version)

demo: deps-demo
	$(q)$(MAKE) -j2 build-$(place) build-bin
	$(q)mkdir -p results
	$(q)RESULTS=$(CURDIR)/results scripts/demo/demo.sh

# TOPO: a topology, in place of the demo's
shell: deps-shell
	$(q)$(MAKE) -j2 build-$(place) build-bin
	$(q)scripts/demo/shell.sh $(TOPO)

# "check" takes minutes, "check-all" runs the rest in half an hour, and "check-long" takes hours.
check check-all check-long: check%: deps-check%
	$(q)$(if $(place),)builds=$$(scripts/check.sh --builds $(@:check-%=%) $(TESTS)) && $(MAKE) -j2 $$builds
	$(q)$(MAKE) build-bin
	$(q)scripts/check.sh $(@:check-%=%) $(TESTS)

# Puts faults into the sources and counts those that unit tests notice.
mutants: deps-mutants
	$(q)scripts/mutants.py $(if $(N),-n $(N)) $(if $(SEED),-s $(SEED)) $(FILE)

check-debug:
	$(q)$(MAKE) check PLACE=uml-debug

# The virtual-time lab: User-Mode Linux, what runs in it, and the module for it.
lab: deps-lab
	$(no_spaces)
	$(q)$(MAKE) -j2 build-6.1 build-lab

build-lab build-lab-debug: out = .build/$(@:build-%=%)
build-lab build-lab-debug:
	$(q)$(MAKE) -C scripts/lab O=$(CURDIR)/$(out) $(if $(V),,-s)
	$(q)tree=$$(scripts/lab/kernel.sh $(if $(@:build-lab=),--debug)) && \
		$(MAKE) build-kmod build-link out=$(out) kdir="$$tree/build ARCH=um"

build-link:
	$(q)mkdir -p $(out)/link
	$(q)cp scripts/lab/sch_lablink.c scripts/lab/lablink.h $(out)/link/
	$(q)echo 'obj-m := sch_lablink.o' >$(out)/link/Makefile
	$(call module,$(out)/link,sch_lablink)

# CC on the command line is of congestion controls here, not the compiler.
with_ccs = env -u CC $(if $(filter command,$(firstword $(origin CC))),CCS="$(CC)")

# bench makes the runs of the panel "bench", bench-all those of "all", bench-paper those of "paper"
bench-all bench-paper: PANEL = $(@:bench-%=%)
bench bench-all bench-paper: deps-bench
	$(q)env -u CC -u MAKEFLAGS -u MFLAGS $(MAKE) lab
	$(q)$(with_ccs) PANEL=$(PANEL) scripts/lab/lab bench $(SCENARIO)

# Of all runs that are there
report: deps-report
	$(q)scripts/lab/lab report $(SCENARIO)

# RUN: one run of one's own, "incast cc=dctcp flows=24 rate=40gbit"; `scripts/lab/lab keys` lists the keys
lab-run: lab deps-bench
	$(q)scripts/lab/lab run $(RUN)

# RUN: a script and its arguments, in place of the prompt
lab-shell: lab deps-bench
	$(q)scripts/lab/lab shell $(RUN)

# What it costs, on this kernel and in the VM.
cost: deps-cost
	$(q)$(MAKE) build-6.1 build-bin build-lab
	$(q)scripts/cost/cost.sh

# deps-TARGET: the packages that it needs
deps-%:
	$(q)scripts/deps.sh $*

# One build for each kernel in .build/<kernel>/: the module from a copy of its
# sources, as the kernel's build writes its products beside them. BTF for a module
# takes the kernel's vmlinux, which Debian's headers come without.
build-native:
	$(q)$(MAKE) build-kmod build-tools out=.build/native kdir=$(KDIR)

build-%: build-tools-6.1
	$(q)tree=$$(scripts/vm/kernel.sh $*) && $(MAKE) build-kmod \
		out=.build/$* kdir=$$tree/build

# The command is built once for all kernels.
build-tools-6.1:
	$(q)$(MAKE) build-tools out=.build/6.1

build-kmod:
	$(q)mkdir -p $(out)
	$(q)find kmod \( -name '*.[ch]' ! -name '*.mod.c' -o -name Makefile -o -name Kbuild \) \
		| cpio --quiet -pdm $(out) 2>/dev/null
	$(call module,$(out)/kmod,tcp_hpccpp)

build-tools:
	$(q)mkdir -p $(out)/tools
	@echo '  TOOLS   $(out)/tools/hpccpp'
	$(q)$(MAKE) $(if $(V),,-s) -C tools O=$(abspath $(out)/tools)

# what the tests and the demo run beside the command
build-bin:
	@echo '  TOOLS   .build/bin'
	$(q)$(MAKE) $(if $(V),,-s) -C selftests O=$(CURDIR)/.build/bin

clean:
	rm -rf .build
	find kmod \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' \) -delete
	rm -f modules.order Module.symvers .*.cmd kmod/modules.order kmod/Module.symvers

help:
	@echo 'For a kernel that loads modules, its headers in KDIR ($(KDIR)):'
	@echo '  all         - the module and the command (the default)'
	@echo '  modules     - tcp_hpccpp.ko, in kmod/'
	@echo '  tools       - hpccpp, in .build/native/tools/'
	@echo '  install     - both: as make modules_install does, and to SBINDIR ($(SBINDIR))'
	@echo '                and PREFIX/share; DESTDIR is honoured'
	@echo '  uninstall   - remove them'
	@echo '  install-dkms - the sources of the module to /usr/src, for DKMS'
	@echo
	@echo 'Anywhere (Debian 12; installs the packages that are missing, when root):'
	@echo '  demo        - show it at work, beside three others: about 2 minutes; writes to'
	@echo '                results/, and fails where a bound does not hold'
	@echo '  shell       - a prompt in the network of the demo, where each box is a command;'
	@echo '                TOPO=FILE: in another (scripts/demo/topo). Runs what is on stdin.'
	@echo '  check       - run the unit tests, the static checks and the main cases of the'
	@echo '                other tests: about 5 minutes'
	@echo "  TESTS='name...' - ... run these tests only, and all of their cases"
	@echo '  PLACE=uml   - ... in the kernel of the lab only; PLACE=vm: in a VM only;'
	@echo '                PLACE=native: in this kernel, which loads the module, instead of a VM'
	@echo '  KERNEL=6.12 - ... with this series in the VM (6.1, 6.12, 7.3; race: 6.1 with KCSAN)'
	@echo '  check-all   - run the remaining tests and cases, some also on 6.12: half an hour'
	@echo '  check-long  - run all tests, repeated often, and in kernels that check themselves'
	@echo '                (KASAN, lockdep, kmemleak, KCSAN): hours'
	@echo '  check-debug - check in a kernel of the lab that checks itself; TESTS as above'
	@echo '  V=1         - ... and show all output'
	@echo '  mutants     - put 400 generated faults into kmod/ and tools/bpf/, one at a time, and'
	@echo '                count those that unit tests notice: 15 minutes. FILE=PATH: 100 into'
	@echo '                this C file; N=COUNT: others than 400 or 100; SEED=N: another sample'
	@echo '  lab         - build the virtual-time lab: User-Mode Linux, about 5 minutes'
	@echo '  bench       - the 440 runs that README and claims need, 1.2 CPU hours; repeats only'
	@echo '                runs whose inputs have changed, and makes results/lab/report.html.'
	@echo '                SCENARIO="long step", CC=hpccpp,dctcp and PANEL=law (for changes to'
	@echo '                the control law) select runs; CC=NAME: a congestion control of your'
	@echo '                own (scripts/lab/OWN.md). More: scripts/lab/lab bench --help'
	@echo '  bench-all   - all 1615 runs but those of bench-paper, 3.7 CPU hours, in the same way'
	@echo '  bench-paper - 4 runs in the 320-host Clos of the HPCC paper, 2 CPU hours'
	@echo '  report      - results/lab/report.html of what has been run so far'
	@echo '  lab-run RUN="..." - one run of your own in the lab: RUN="incast cc=dctcp flows=24 rate=40gbit'
	@echo '                size=300k"; scripts/lab/lab keys lists the keys'
	@echo '  lab-shell   - a prompt in the lab; RUN="FILE [ARG]..." runs a script of your own there'
	@echo '  cost        - what it costs a CPU, in time and throughput, and a flow; 15 minutes'
	@echo '  deb         - Debian packages, in .build/deb/ (scripts/packaging/INSTALL.md)'
	@echo
	@echo '  clean       - remove what was built'

.PHONY: all modules modules_install tools install uninstall demo shell check
.PHONY: install-dkms deb cost
.PHONY: check-all check-long check-debug mutants lab build-lab build-lab-debug build-link build-native
.PHONY: bench bench-all bench-paper report lab-run lab-shell
.PHONY: build-kmod build-tools build-tools-6.1 build-bin clean help
