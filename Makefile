# SPDX-License-Identifier: GPL-2.0
# bigtcp: make help lists the targets. V=1 shows the commands.

VERSION  := 0.1.0
PREFIX   ?= /usr/local
BINDIR   ?= $(PREFIX)/bin
SBINDIR  ?= $(PREFIX)/sbin
LIBDIR   ?= $(PREFIX)/lib
INCDIR   ?= $(PREFIX)/include
BPFDIR   ?= $(LIBDIR)/bpf
LIBEXECDIR ?= $(PREFIX)/libexec
MANDIR   ?= $(PREFIX)/share/man
COMPDIR  ?= $(PREFIX)/share/bash-completion/completions
SYSTEMDDIR ?= $(PREFIX)/lib/systemd/system
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
# Where the daemon looks, whatever the prefix.
SYSCONFDIR ?= /etc
DESTDIR  ?=

OUT      ?= .output
CC       ?= gcc
# The BPF compilers the corpus is built with; the first one builds bpf/.
CLANGS   ?= 16 14 19
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)

ifeq ($(V),1)
Q =
msg =
else
Q = @
msg = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(OUT)/%,%,$(2))';
MAKEFLAGS += --no-print-directory
endif

# A build for a distribution sets this to nothing.
WERROR   ?= -Werror
WARN     := -Wall -Wextra $(WERROR) -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers
CFLAGS   ?= -O2 -g
BT_CFLAGS := -std=gnu11 $(WARN) -Iinclude -Iloader -I$(OUT) -D_GNU_SOURCE -DBIGTCP_VERSION='"$(VERSION)"' -MMD -MP $(CPPFLAGS)
BT_LIBS  := -linih -lxdp -lbpf -lelf -lz -lmnl
BTD_LIBS := -lsystemd -lmicrohttpd $(BT_LIBS)
MULTIARCH := $(shell $(CC) -print-multiarch)
# Not with CFLAGS: what hardens host code (stack protectors, control-flow protection) the verifier does not take.
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall $(WERROR) -ffile-prefix-map=$(CURDIR)=. -Iinclude -Ivmlinux -I/usr/include/$(MULTIARCH) -MMD -MP

SAN      := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

src = $(sort $(wildcard $(1)))
objs = $(patsubst %.c,$(OUT)/$(2)/%.o,$(1))

ENGINE_SRC := $(call src,loader/engine/*.c)
HOST_SRC   := $(call src,loader/base/*.c loader/core/*.c)
CMD_SRC    := $(call src,loader/cmd/*.c)
DAEMON_SRC := $(call src,loader/daemon/*.c)
BPF_SRC    := $(call src,bpf/*.bpf.c)
CORPUS_SRC := $(call src,selftests/corpus/*.bpf.c)
UNIT_SRC   := $(call src,selftests/unit/*.c)
PROG_SRC   := $(call src,selftests/prog/*.c)
FUZZ_SRC   := $(call src,selftests/fuzz/fuzz_*.c)
TOOL_SRC   := $(call src,selftests/tools/*.c)

BPF_OBJ    := $(patsubst bpf/%.bpf.c,$(OUT)/bpf/%.bpf.o,$(BPF_SRC))
SKEL       := $(patsubst bpf/%.bpf.c,$(OUT)/skel/%.skel.h,$(BPF_SRC))
CORPUS_OBJ := $(foreach v,$(CLANGS),$(patsubst selftests/corpus/%.bpf.c,$(OUT)/corpus/clang-$(v)/%.bpf.o,$(CORPUS_SRC)))
TOOLS      := $(patsubst selftests/tools/%.c,$(OUT)/tools/%,$(TOOL_SRC))

.PHONY: all docs help deps demo check check-unit check-pkg check-prog check-net check-vm check-style bench bench-daemon bench-rr fuzz corpus \
	bpf-clangs tests selftests install install-selftests uninstall clean
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

all: $(OUT)/bigtcp $(OUT)/bigtcpd $(OUT)/libbigtcp.a $(OUT)/libbigtcp.so $(BPF_OBJ) docs ## build the command, the daemon, the library, the BPF objects and the man pages

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

deps: ## install everything the project needs (Debian 12, root)
	$(Q)sh selftests/deps.sh

# --- host code ---------------------------------------------------------------
$(OUT)/obj/%.o: %.c | $(SKEL)
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BT_CFLAGS) $(CFLAGS) -fPIC -I$(OUT)/skel -c $< -o $@

$(OUT)/san/%.o: %.c | $(SKEL)
	$(call msg,CC-SAN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BT_CFLAGS) -O1 -g $(SAN) -I$(OUT)/skel -c $< -o $@

$(OUT)/libbigtcp.a: $(call objs,$(ENGINE_SRC),obj)
	$(call msg,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(OUT)/libbigtcp.so: $(call objs,$(ENGINE_SRC),obj) loader/engine/libbigtcp.map
	$(call msg,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libbigtcp.so.0 -Wl,--version-script=loader/engine/libbigtcp.map \
		$(LDFLAGS) $(filter %.o,$^) -o $@

$(OUT)/bigtcp: $(call objs,$(CMD_SRC) $(HOST_SRC),obj) $(OUT)/libbigtcp.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(BT_LIBS) -o $@

$(OUT)/bigtcpd: $(call objs,$(DAEMON_SRC) $(HOST_SRC),obj) $(OUT)/libbigtcp.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $^ $(BTD_LIBS) -o $@

# --- BPF -----------------------------------------------------------------------
$(OUT)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)clang-$(firstword $(CLANGS)) $(BPF_CFLAGS) -c $< -o $@

$(OUT)/skel/%.skel.h: $(OUT)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*) > $@ 2>$@.err || { cat $@.err >&2; rm $@; exit 1; }

define clang_rules
$(OUT)/corpus/clang-$(1)/%.bpf.o: selftests/corpus/%.bpf.c
	$$(call msg,BPF-$(1),$$@)
	@mkdir -p $$(@D)
	$$(Q)clang-$(1) $$(BPF_CFLAGS) -Iselftests/corpus -c $$< -o $$@
$(OUT)/bpf/clang-$(1)/%.bpf.o: bpf/%.bpf.c
	$$(call msg,BPF-$(1),$$@)
	@mkdir -p $$(@D)
	$$(Q)clang-$(1) $$(BPF_CFLAGS) -c $$< -o $$@
endef
$(foreach v,$(CLANGS),$(eval $(call clang_rules,$(v))))

$(OUT)/corpus/expect.tab: selftests/corpus/expect.sh $(CORPUS_SRC)
	@mkdir -p $(@D)
	$(Q)sh $^ > $@

$(OUT)/objects/%.bpf.o: selftests/net/objects/%.bpf.c
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)clang-$(firstword $(CLANGS)) $(BPF_CFLAGS) -c $< -o $@

corpus: $(CORPUS_OBJ) $(OUT)/corpus/expect.tab ## build the corpus with every BPF compiler
bpf-clangs: $(foreach v,$(CLANGS),$(patsubst bpf/%.bpf.c,$(OUT)/bpf/clang-$(v)/%.bpf.o,$(BPF_SRC)))

# --- tests -----------------------------------------------------------------------
$(OUT)/tests/unit: $(call objs,$(UNIT_SRC) $(ENGINE_SRC) $(HOST_SRC) $(filter-out %/main.c,$(DAEMON_SRC)),san)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SAN) $^ -lcriterion $(BTD_LIBS) -o $@

$(OUT)/tests/prog: $(call objs,$(PROG_SRC) $(HOST_SRC),obj) $(OUT)/libbigtcp.a
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ -lcriterion $(BT_LIBS) -o $@

$(OUT)/tools/%: selftests/tools/%.c $(call objs,$(HOST_SRC),obj) $(OUT)/libbigtcp.a
	$(call msg,TOOL,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BT_CFLAGS) $(CFLAGS) $(LDFLAGS) $(filter-out %.h,$^) $(BT_LIBS) -lpthread -o $@

$(OUT)/fuzz/%: selftests/fuzz/%.c $(ENGINE_SRC)
	$(call msg,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)clang-14 -std=gnu11 -D_GNU_SOURCE -Iinclude -Iloader -O1 -g -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all $^ -o $@

tests: all corpus bpf-clangs $(TOOLS) $(patsubst %,$(OUT)/objects/%.bpf.o,audit_hooks observe_build observe_layout) $(OUT)/tests/unit $(OUT)/tests/prog ## build everything the tests use

check: ## all tests but those that take a kernel build (root)
	$(Q)sh selftests/check.sh style unit fuzz pkg prog net vm
check-style check-unit check-pkg check-prog check-net check-vm: check-%:
	$(Q)sh selftests/check.sh $*
fuzz: $(patsubst selftests/fuzz/%.c,$(OUT)/fuzz/%,$(FUZZ_SRC)) ## build the fuzzers

demo: ## BIG TCP, a naive firewall, its audit and its twin, on live traffic (root)
	$(Q)bash selftests/demo.sh

bench: tests ## costs as ratios, paired and interleaved (root)
	$(Q)bash selftests/bench/run.sh
	$(Q)bash selftests/bench/daemon.sh

bench-daemon: $(OUT)/bigtcp $(OUT)/bigtcpd $(OUT)/tools/traffic $(OUT)/corpus/clang-16/fw_naive.bpf.o ## bigtcpd with 1,000 veth pairs (root)
	$(Q)bash selftests/bench/daemon.sh

bench-rr: $(OUT)/bigtcp $(OUT)/tools/rr $(OUT)/tools/traffic $(OUT)/corpus/clang-16/fw_naive.bpf.o ## requests of 80 KB: makes docs/rr.md and its plot (root)
	$(Q)bash selftests/bench/rr.sh

# --- documentation ---------------------------------------------------------------
MAN  := $(patsubst docs/man/%.scd,$(OUT)/man/%,$(call src,docs/man/*.scd))
COMP := $(OUT)/completion/bigtcp

CONF := $(OUT)/bigtcp.conf
UNIT := loader/daemon/bigtcpd.service.in

docs: $(MAN) $(COMP) $(CONF) ## build the man pages, the completion and the default configuration

# Both hold what the command's own tables say, so the command is asked.
$(OUT)/man/%: docs/man/%.scd docs/man/page.sh docs/man/tidy.awk $(OUT)/bigtcp $(OUT)/bigtcpd loader/core/metrics.tab.h loader/core/preflight.tab.h
	$(call msg,MAN,$@)
	@mkdir -p $(@D)
	$(Q)BIGTCP=$(OUT)/bigtcp BIGTCPD=$(OUT)/bigtcpd VERSION=$(VERSION) TABLES=loader/core sh docs/man/page.sh $< > $@.scd
	$(Q)scdoc < $@.scd > $@.roff && awk -f docs/man/tidy.awk $@.roff > $@ && rm $@.scd $@.roff

$(COMP): docs/completion/bigtcp.bash docs/completion/tables.sh $(OUT)/bigtcp
	$(call msg,COMP,$@)
	@mkdir -p $(@D)
	$(Q)BIGTCP=$(OUT)/bigtcp sh docs/completion/tables.sh > $@

# As the daemon describes it; a section of devices would be one that matches.
$(CONF): packaging/bigtcp.conf.head $(OUT)/bigtcpd
	$(call msg,CONF,$@)
	$(Q)$(OUT)/bigtcpd --help > $@.help
	$(Q){ cat $< && sed -n "/^\[daemon/,/^Signals/{/^Signals/!{s/^\[device/#&/;s/ *$$//;p}}" $@.help; } > $@ && rm $@.help

# --- install ---------------------------------------------------------------------
# $(call put,MODE,FOLDER,FILES)
put = $(Q)install -d $(DESTDIR)$(2) && install -m $(1) $(3) $(DESTDIR)$(2)/
# Where things went, for the files that tell.
PLACES = sed 's|@PREFIX@|$(PREFIX)|g;s|@BINDIR@|$(BINDIR)|g;s|@SBINDIR@|$(SBINDIR)|g;s|@LIBDIR@|$(LIBDIR)|g;s|@INCDIR@|$(INCDIR)|g;s|@BPFDIR@|$(BPFDIR)|g;s|@SYSCONFDIR@|$(SYSCONFDIR)|g;s|@VERSION@|$(VERSION)|g'

install: all ## DESTDIR and PREFIX are honoured
	$(call put,0755,$(BINDIR),$(OUT)/bigtcp)
	$(call put,0755,$(SBINDIR),$(OUT)/bigtcpd)
	$(Q)install -d $(DESTDIR)$(SYSTEMDDIR)
	$(Q)$(PLACES) $(UNIT) > $(DESTDIR)$(SYSTEMDDIR)/bigtcpd.service
	$(call put,0644,$(LIBDIR),$(OUT)/libbigtcp.a)
	$(Q)install -m 0755 $(OUT)/libbigtcp.so $(DESTDIR)$(LIBDIR)/libbigtcp.so.$(VERSION)
	$(Q)ln -sf libbigtcp.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libbigtcp.so.0
	$(Q)ln -sf libbigtcp.so.0 $(DESTDIR)$(LIBDIR)/libbigtcp.so
	$(call put,0644,$(INCDIR)/bigtcp,include/bigtcp/*.h)
	$(call put,0644,$(BPFDIR),$(BPF_OBJ))
	$(Q)install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	$(Q)$(PLACES) loader/bigtcp.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/bigtcp.pc
	$(Q)for m in $(MAN); do install -D -m 0644 $$m $(DESTDIR)$(MANDIR)/man$${m##*.}/$$(basename $$m) || exit 1; done
	$(call put,0644,$(COMPDIR),$(COMP))
	$(Q)install -D -m 0644 packaging/bigtcp.tmpfiles $(DESTDIR)$(TMPFILESDIR)/bigtcp.conf
	# What an administrator has written stays.
	$(Q)test -e $(DESTDIR)$(SYSCONFDIR)/bigtcp/bigtcp.conf || \
		install -D -m 0644 $(CONF) $(DESTDIR)$(SYSCONFDIR)/bigtcp/bigtcp.conf

# The tests that need no compiler where they run, laid out like the tree; OUT is build. The corpus is where the
# scripts look for it, whichever compiler it is from.
SELFDIR  := $(LIBEXECDIR)/bigtcp
NET_SELF := lib lib_books lib_tap lib_twin run \
	capture cgroup_traffic cli guard length lines probe terminal traffic twins xdp_traffic

selftests: all $(OUT)/tests/prog $(TOOLS) $(OUT)/corpus/expect.tab \
	$(filter $(OUT)/corpus/clang-$(firstword $(CLANGS))/%,$(CORPUS_OBJ)) ## build the tests that need no compiler

install-selftests: selftests ## the tests that need no compiler, for the kernel they are run on
	$(call put,0755,$(SELFDIR)/selftests,selftests/installed.sh selftests/residue.sh selftests/scripts.sh)
	$(call put,0755,$(SELFDIR)/selftests/net,$(NET_SELF:%=selftests/net/%.sh))
	$(call put,0644,$(SELFDIR)/selftests/corpus,$(CORPUS_SRC))
	$(call put,0644,$(SELFDIR)/build/corpus,$(OUT)/corpus/expect.tab)
	$(call put,0644,$(SELFDIR)/build/corpus/clang-16,$(OUT)/corpus/clang-$(firstword $(CLANGS))/*.bpf.o)
	$(call put,0755,$(SELFDIR)/build/tests,$(OUT)/tests/prog)
	$(call put,0755,$(SELFDIR)/build/tools,$(TOOLS))
	$(Q)ln -sfr $(DESTDIR)$(BINDIR)/bigtcp $(DESTDIR)$(SELFDIR)/build/bigtcp
	$(Q)ln -sfnr $(DESTDIR)$(BPFDIR) $(DESTDIR)$(SELFDIR)/build/bpf

uninstall: ## removes what install put there
	rm -f $(DESTDIR)$(BINDIR)/bigtcp $(DESTDIR)$(SBINDIR)/bigtcpd $(DESTDIR)$(SYSTEMDDIR)/bigtcpd.service $(DESTDIR)$(LIBDIR)/libbigtcp.* $(DESTDIR)$(LIBDIR)/pkgconfig/bigtcp.pc
	rm -f $(addprefix $(DESTDIR)$(BPFDIR)/,$(notdir $(BPF_OBJ)))
	rm -f $(foreach m,$(MAN),$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) $(DESTDIR)$(COMPDIR)/bigtcp
	rm -f $(DESTDIR)$(TMPFILESDIR)/bigtcp.conf
	$(Q)! cmp -s $(CONF) $(DESTDIR)$(SYSCONFDIR)/bigtcp/bigtcp.conf || \
		rm $(DESTDIR)$(SYSCONFDIR)/bigtcp/bigtcp.conf
	rm -rf $(DESTDIR)$(INCDIR)/bigtcp $(DESTDIR)$(SELFDIR)

clean: ## removes what was built
	rm -rf $(OUT)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
