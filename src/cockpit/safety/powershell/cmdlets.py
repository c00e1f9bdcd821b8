"""Tables of PowerShell commands: default aliases, command families, and the parameters of known cmdlets.

A family says what a command always does: some are denied whatever their arguments, others show their
capability to the user. A parameter is written `Name:kind`, followed by a digit for its position. Kinds: r a
path whose content is read, l a path that is only listed or tested, w a path that is written, d a path that is
removed, v any value, s a switch, x a value that makes the command more than a reader. A row continues on
indented lines. Commands in no table are asked about.
"""

import re
from dataclasses import dataclass
from functools import cache

from cockpit.plugin.tools import Capability
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.powershell.reader import DOUBLE_QUOTES, SINGLE_QUOTES
from cockpit.safety.powershell.scope import PowerShellScope, Values, fold_word
from cockpit.safety.powershell.syntax_tree import PowerShellCommand, PowerShellWord
from cockpit.workspace.word_set import word_set

ALIAS_TABLE = """
%=foreach-object ?=where-object ac=add-content cat=get-content cd=set-location chdir=set-location
clc=clear-content clear=clear-host clhy=clear-history cli=clear-item clp=clear-itemproperty
cls=clear-host clv=clear-variable cnsn=connect-pssession compare=compare-object copy=copy-item
cp=copy-item cpi=copy-item cpp=copy-itemproperty curl=invoke-webrequest cvpa=convert-path
dbp=disable-psbreakpoint del=remove-item diff=compare-object dir=get-childitem dnsn=disconnect-pssession
ebp=enable-psbreakpoint echo=write-output epal=export-alias epcsv=export-csv epsn=export-pssession
erase=remove-item etsn=enter-pssession exsn=exit-pssession fc=format-custom fhx=format-hex fl=format-list
foreach=foreach-object ft=format-table fw=format-wide gal=get-alias gbp=get-psbreakpoint gc=get-content
gcb=get-clipboard gci=get-childitem gcm=get-command gcs=get-pscallstack gdr=get-psdrive ghy=get-history
gi=get-item gin=get-computerinfo gjb=get-job gl=get-location gm=get-member gmo=get-module
gp=get-itemproperty gps=get-process gpv=get-itempropertyvalue group=group-object gsn=get-pssession
gsnp=get-pssnapin gsv=get-service gtz=get-timezone gu=get-unique gv=get-variable gwmi=get-wmiobject
gcim=get-ciminstance h=get-history history=get-history icim=invoke-cimmethod icm=invoke-command
iex=invoke-expression ihy=invoke-history ii=invoke-item ipal=import-alias ipcsv=import-csv
ipmo=import-module ipsn=import-pssession irm=invoke-restmethod ise=powershell_ise.exe
iwmi=invoke-wmimethod iwr=invoke-webrequest kill=stop-process ls=get-childitem lp=out-printer man=help
md=mkdir measure=measure-object mi=move-item mount=new-psdrive move=move-item mp=move-itemproperty
mv=move-item nal=new-alias ncim=new-ciminstance ndr=new-psdrive ni=new-item nmo=new-module
npssc=new-pssessionconfigurationfile nsn=new-pssession nv=new-variable ogv=out-gridview oh=out-host
popd=pop-location ps=get-process pushd=push-location pwd=get-location r=invoke-history
rbp=remove-psbreakpoint rcim=remove-ciminstance rcjb=receive-job rcsn=receive-pssession rd=remove-item
rdr=remove-psdrive ren=rename-item ri=remove-item rjb=remove-job rm=remove-item rmdir=remove-item
rmo=remove-module rni=rename-item rnp=rename-itemproperty rp=remove-itemproperty rsn=remove-pssession
rsnp=remove-pssnapin rujb=resume-job rv=remove-variable rvpa=resolve-path rwmi=remove-wmiobject
sajb=start-job sal=set-alias saps=start-process sasv=start-service sbp=set-psbreakpoint sc=set-content
scb=set-clipboard scim=set-ciminstance select=select-object set=set-variable shcm=show-command
si=set-item sl=set-location sleep=start-sleep sls=select-string sort=sort-object sp=set-itemproperty
spjb=stop-job spps=stop-process spsv=stop-service start=start-process stz=set-timezone sujb=suspend-job
sv=set-variable swmi=set-wmiinstance tee=tee-object trcm=trace-command type=get-content
wget=invoke-webrequest where=where-object wjb=wait-job write=write-output mkdir=new-item-folder
"""
ALIASES = dict(pair.split("=", 1) for pair in ALIAS_TABLE.split())
ALIASES["write"] = "write-output"
# On Unix these names are also system programs, so both meanings are judged.
NATIVE_TOO = word_set(
    "cat cp diff echo kill ls man mount mv ps pwd rm rmdir sleep sort tee curl wget clear compare history "
    "mkdir"
)
MODULE_PREFIX = re.compile(
    r"^(?:microsoft|cim|storage|net|defender|schedule|psreadline|powershell)[\w.]*\\", re.IGNORECASE
)
PROGRAM_ENDINGS = (".exe", ".com", ".bat", ".cmd")


def resolve_command_name(text: str, own: dict[str, str]) -> str:
    """The lower-case name of the command that `text` means, with aliases, modules, paths and suffixes
    resolved."""
    name = text.strip().lower()
    for _ in range(4):
        name = MODULE_PREFIX.sub("", name)
        if own.get(name, name) == name:
            break
        name = own[name].lower()
    if name in ALIASES:
        return ALIASES[name]
    base = re.split(r"[\\/]", name)[-1]
    for ending in PROGRAM_ENDINGS:
        if base.endswith(ending):
            return base.removesuffix(ending)
    return name if base.endswith(".ps1") else base


def is_file_path(text: str) -> bool:
    """Whether a command is named by a path, so that it runs whatever file is there."""
    is_script = text.lower().endswith((".ps1", ".bat", ".cmd", ".psm1"))
    return is_script or re.search(r"[\\/]", MODULE_PREFIX.sub("", text)) is not None


DENIED_FAMILIES: tuple[tuple[str, Capability, str, str], ...] = (
    ("ps-disk", "host.mutate", "it wipes or changes disks", """
     clear-disk format-volume initialize-disk remove-partition set-disk reset-physicaldisk remove-virtualdisk
     remove-storagepool set-partition new-partition resize-partition remove-volume optimize-volume
     dismount-diskimage clear-storagediagnosticinfo update-disk format diskpart remove-vhd convert-vhd"""),
    ("ps-power", "host.mutate", "it shuts the machine down", """
     stop-computer restart-computer suspend-computer shutdown logoff"""),
    ("ps-defender", "host.mutate", "it weakens the protection of the machine", """
     set-mppreference add-mppreference remove-mppreference uninstall-windowsdefender disable-netfirewallrule
     remove-netfirewallrule set-netfirewallprofile set-netfirewallsetting disable-tlscipher
     set-processmitigation remove-mpthreat disable-bitlocker suspend-bitlocker clear-tpm"""),
    ("ps-logs", "host.mutate", "it deletes logs", """
     clear-eventlog remove-eventlog limit-eventlog clear-history"""),
    ("ps-shadow", "host.mutate", "it deletes backups", """
     disable-computerrestore remove-wbbackupset remove-windowsbackup reagentc"""),
    ("ps-persist", "persist", "it installs something that runs later", """
     register-scheduledtask register-scheduledjob set-scheduledtask new-scheduledtask new-service
     new-scheduledtaskaction
     register-wmievent set-wmiinstance register-cimindicationevent new-scheduledtasktrigger
     add-jobtrigger new-jobtrigger enable-scheduledjob at installutil"""),
    ("ps-users", "priv", "it changes users or their rights", """
     new-localuser remove-localuser set-localuser enable-localuser disable-localuser add-localgroupmember
     remove-localgroupmember new-localgroup add-adgroupmember new-aduser remove-aduser set-adaccountpassword
     set-aduser unlock-adaccount add-computer remove-computer rename-computer reset-computermachinepassword
     enable-psremoting enable-wsmancredssp register-pssessionconfiguration set-pssessionconfiguration"""),
    ("ps-credentials", "secret.read", "it takes stored credentials", """
     cmdkey vaultcmd get-storedcredential get-secret get-credentialmanagercredential invoke-mimikatz mimikatz
     procdump procdump64 get-laps get-lapsadpassword invoke-ninjacopy out-minidump ntdsutil esentutl
     secretsdump rubeus invoke-kerberoast get-gpppassword lazagne get-keystrokes unlock-secretstore"""),
    ("ps-code", "code.remote", "it runs text as code, which hides what runs", """
     invoke-expression mshta cmstp regasm regsvcs odbcconf msdt scriptrunner pcalua
     invoke-reflectivepeinjection invoke-shellcode invoke-obfuscation"""),
)  # fmt: skip
ASKED_FAMILIES: tuple[tuple[str, Capability, str, str], ...] = (
    ("ps-net", "net.egress", "it connects to the network", """
     invoke-webrequest invoke-restmethod start-bitstransfer test-netconnection test-connection resolve-dnsname
     send-mailmessage connect-psserver new-pssession enter-pssession invoke-command-remote curl wget ping
     tracert
     nslookup ftp tftp ssh scp sftp telnet nc ncat netcat net1 connect-pssession new-webserviceproxy pathping
     copy-vmfile receive-pssession new-smbmapping new-psdrive get-psrepository find-module update-help
     bitsadmin certutil test-wsman openfiles winrm"""),
    ("ps-run", "code.exec", "it starts a program or runs code", """
     start-process invoke-item start-job start-threadjob invoke-command add-type new-object import-module
     invoke-cimmethod invoke-wmimethod foreach-object invoke-history trace-command start-service
     restart-service debug-process wait-process invoke-pester psexec msiexec rundll32 regsvr32 cscript wscript
     wmic forfiles msbuild start runas conhost invoke-build invoke-scriptanalyzer register-objectevent
     register-engineevent set-psbreakpoint using powershell_ise new-module update-typedata"""),
    ("ps-package", "pkg.install", "it installs or removes programs", """
     install-module update-module save-module uninstall-module install-package uninstall-package
     install-script
     register-psrepository set-psrepository add-appxpackage remove-appxpackage winget choco scoop
     install-packageprovider add-windowscapability enable-windowsoptionalfeature
     disable-windowsoptionalfeature
     install-windowsfeature uninstall-windowsfeature dism install-psresource"""),
    ("ps-process", "proc.signal", "it ends or changes processes or services", """
     stop-process stop-service suspend-service resume-service set-service remove-service taskkill stop-job
     remove-job"""),
    ("ps-host", "host.mutate", "it changes settings of the machine", """
     set-executionpolicy set-date set-timezone set-culture set-winuserlanguagelist new-netfirewallrule
     set-netfirewallrule new-netipaddress set-dnsclientserveraddress set-netadapter disable-netadapter
     enable-netadapter reg netsh net sc set-itemproperty new-itemproperty remove-itemproperty powercfg fsutil
     takeown icacls set-acl mount-diskimage set-variable set-alias new-alias set-clipboard clear-recyclebin
     set-wsmaninstance set-wsmanquickconfig attrib setx cipher compact mklink subst set-location-env
     schtasks wevtutil auditpol vssadmin wbadmin bcdedit
     clear-dnsclientcache restart-printservice remove-printer add-printer chkdsk sfc"""),
    ("ps-secret", "secret.read", "it reads what may be secret", """
     get-clipboard get-credential convertfrom-securestring get-history get-variable import-clixml
     get-pfxcertificate export-pfxcertificate get-childitem-env set export-certificate read-host"""),
)  # fmt: skip


@cache
def _family_table() -> dict[str, SafetyFinding]:
    findings: dict[str, SafetyFinding] = {}
    for rule, capability, reason, names in ASKED_FAMILIES:
        findings |= dict.fromkeys(names.split(), ask(rule, reason, capability, risk=55))
    for rule, capability, reason, names in DENIED_FAMILIES:
        findings |= dict.fromkeys(names.split(), deny(rule, reason, capability))
    return findings


def find_family(name: str) -> SafetyFinding | None:
    """What the command `name` always does, or None."""
    return _family_table().get(name)


COMMON_PARAMETERS = """
Verbose:s Debug:s ErrorAction:v WarningAction:v InformationAction:v ProgressAction:v ea:v wa:v vb:s
OutVariable:x ErrorVariable:x WarningVariable:x InformationVariable:x PipelineVariable:x OutBuffer:v
ov:x ev:x pv:x WhatIf:s Confirm:s wi:s cf:s
"""
READER_TABLE = """

get-childitem Path:l0 LiteralPath:l PSPath:l LP:l Filter:v1 Include:v Exclude:v Recurse:s s:s Depth:v
  Force:s Name:s File:s Directory:s af:s ad:s ah:s ar:s as:s d:s h:s Hidden:s ReadOnly:s System:s
  Attributes:v FollowSymlink:x
get-item Path:l0 LiteralPath:l PSPath:l LP:l Filter:v Include:v Exclude:v Force:s
get-content Path:r0 LiteralPath:r PSPath:r LP:r TotalCount:v First:v Head:v Tail:v Last:v Raw:s Encoding:v
  ReadCount:v Delimiter:v AsByteStream:s Force:s Filter:v Include:v Exclude:v Wait:x Stream:x Credential:x
select-string Pattern:v0 Path:r1 LiteralPath:r PSPath:r LP:r SimpleMatch:s CaseSensitive:s Quiet:s List:s
  NotMatch:s AllMatches:s Context:v Include:v Exclude:v Encoding:v Raw:s NoEmphasis:s Culture:v
  InputObject:x
test-path Path:l0 LiteralPath:l PSPath:l LP:l PathType:v Type:v IsValid:s Filter:v Include:v Exclude:v
  OlderThan:v NewerThan:v
resolve-path Path:l0 LiteralPath:l PSPath:l LP:l Relative:s RelativeBasePath:l Force:s
convert-path Path:l0 LiteralPath:l PSPath:l LP:l
split-path Path:v0 LiteralPath:v Parent:s Leaf:s LeafBase:s Extension:s Qualifier:s NoQualifier:s
  IsAbsolute:s Resolve:x
join-path Path:v0 ChildPath:v1 AdditionalChildPath:v2 Resolve:x
measure-object Property:v0 Line:s Word:s Character:s Sum:s Average:s Maximum:s Minimum:s AllStats:s
  StandardDeviation:s IgnoreWhiteSpace:s
select-object Property:v0 First:v Last:v Skip:v SkipLast:v SkipIndex:v Index:v Unique:s ExpandProperty:v
  ExcludeProperty:v Wait:s CaseInsensitive:s
sort-object Property:v0 Descending:s Unique:s CaseSensitive:s Stable:s Top:v Bottom:v Culture:v
group-object Property:v0 NoElement:s AsHashTable:s AsString:s CaseSensitive:s
where-object Property:v0 Value:v1 EQ:s NE:s GT:s GE:s LT:s LE:s Like:s NotLike:s Match:s NotMatch:s
  Contains:s NotContains:s In:s NotIn:s CEQ:s CNE:s CGT:s CGE:s CLT:s CLE:s CLike:s CNotLike:s CMatch:s
  CNotMatch:s Is:s IsNot:s Not:s FilterScript:x
format-table Property:v0 AutoSize:s Wrap:s HideTableHeaders:s GroupBy:v View:v RepeatHeader:s Force:s
format-list Property:v0 GroupBy:v View:v Force:s Expand:v
format-wide Property:v0 AutoSize:s Column:v GroupBy:v Force:s
format-custom Property:v0 Depth:v GroupBy:v Force:s
format-hex Path:r0 LiteralPath:r PSPath:r LP:r Encoding:v Count:v Offset:v Raw:s
out-string Width:v Stream:s NoNewline:s
out-null
out-default
out-host Paging:s
get-date Date:v0 Format:v UFormat:v Year:v Month:v Day:v Hour:v Minute:v Second:v DisplayHint:v AsUTC:s
  UnixTimeSeconds:v
get-timezone Name:v0 Id:v ListAvailable:s
get-culture
get-uiculture
get-location PSProvider:v PSDrive:v Stack:s StackName:v
get-host
get-process Name:v0 Id:v Module:s FileVersionInfo:s
get-service Name:v0 DisplayName:v Include:v Exclude:v DependentServices:s RequiredServices:s
get-command Name:v0 Module:v Noun:v Verb:v CommandType:v Type:v All:s ListImported:s Syntax:s TotalCount:v
get-help Name:v0 Full:s Detailed:s Examples:s Parameter:v Category:v
get-alias Name:v0 Definition:v Exclude:v Scope:v
get-module Name:v0 ListAvailable:s All:s
get-member Name:v0 MemberType:v Type:v Static:s View:v Force:s
get-verb Verb:v0 Group:v
get-unique AsString:s OnType:s CaseInsensitive:s
get-psdrive Name:v0 PSProvider:v Scope:v
get-psprovider PSProvider:v0
get-random Maximum:v0 Minimum:v Count:v SetSeed:v
get-uptime Since:s
get-filehash Path:r0 LiteralPath:r PSPath:r LP:r Algorithm:v
get-itemproperty Path:l0 LiteralPath:l PSPath:l LP:l Name:v1
get-itempropertyvalue Path:l0 LiteralPath:l PSPath:l LP:l Name:v1
get-acl Path:l0 LiteralPath:l PSPath:l LP:l
get-computerinfo Property:v0
write-output InputObject:v0 NoEnumerate:s
write-host Object:v0 ForegroundColor:v BackgroundColor:v NoNewline:s Separator:v
write-verbose Message:v0
write-warning Message:v0
write-information MessageData:v0 Tags:v
write-debug Message:v0
compare-object ReferenceObject:v0 DifferenceObject:v1 Property:v IncludeEqual:s ExcludeDifferent:s
  PassThru:s SyncWindow:v CaseSensitive:s
convertfrom-json AsHashtable:s Depth:v NoEnumerate:s InputObject:v0
convertto-json Depth:v Compress:s EnumsAsStrings:s AsArray:s EscapeHandling:v InputObject:v0
convertfrom-csv Delimiter:v Header:v InputObject:v0
convertto-csv Delimiter:v NoTypeInformation:s IncludeTypeInformation:s UseQuotes:v UseCulture:s
  InputObject:v0
import-csv Path:r0 LiteralPath:r Delimiter:v1 Header:v Encoding:v UseCulture:s
import-powershelldatafile Path:r0 LiteralPath:r
test-json Json:v0 Path:r LiteralPath:r
select-xml XPath:v0 Path:r1 LiteralPath:r
test-modulemanifest Path:r0
get-variable Name:v0 ValueOnly:s Scope:v
start-sleep Seconds:v0 Milliseconds:v m:v s:v
set-location Path:l0 LiteralPath:l PSPath:l LP:l PassThru:s
push-location Path:l0 LiteralPath:l PSPath:l LP:l PassThru:s
pop-location PassThru:s
clear-host
"""
WRITER_TABLE = """

remove-item Path:d0 LiteralPath:d PSPath:d LP:d Recurse:s Force:s Filter:v Include:v Exclude:v Stream:x
  rf:s r:s fr:s f:s
set-content Path:w0 LiteralPath:w PSPath:w LP:w Value:v1 Encoding:v Force:s NoNewline:s PassThru:s
  AsByteStream:s Stream:x Filter:v Include:v Exclude:v
add-content Path:w0 LiteralPath:w PSPath:w LP:w Value:v1 Encoding:v Force:s NoNewline:s PassThru:s
  AsByteStream:s Stream:x
clear-content Path:w0 LiteralPath:w PSPath:w LP:w Force:s Stream:x
out-file FilePath:w0 LiteralPath:w PSPath:w LP:w Encoding:v1 Append:s Force:s NoClobber:s NoNewline:s
  Width:v InputObject:v
tee-object FilePath:w0 LiteralPath:w Append:s Variable:v Encoding:v InputObject:v
new-item Path:w0 Name:v ItemType:v Type:v Value:v Target:r Force:s
new-item-folder Path:w0 Name:v Force:s ItemType:v
copy-item Path:r0 LiteralPath:r PSPath:r LP:r Destination:w1 Recurse:s Container:s Force:s Filter:v
  Include:v Exclude:v PassThru:s FromSession:x ToSession:x
move-item Path:d0 LiteralPath:d PSPath:d LP:d Destination:w1 Force:s Filter:v Include:v Exclude:v
  PassThru:s
rename-item Path:d0 LiteralPath:d PSPath:d LP:d NewName:w1 Force:s PassThru:s
set-item Path:w0 LiteralPath:w PSPath:w LP:w Value:v1 Force:s PassThru:s
clear-item Path:d0 LiteralPath:d Force:s
export-csv Path:w0 LiteralPath:w Delimiter:v1 NoTypeInformation:s Encoding:v Append:s Force:s NoClobber:s
  InputObject:v
export-clixml Path:w0 LiteralPath:w Depth:v Encoding:v Force:s NoClobber:s InputObject:v
expand-archive Path:r0 LiteralPath:r DestinationPath:w1 Force:s PassThru:s
compress-archive Path:r0 LiteralPath:r DestinationPath:w1 Force:s Update:s CompressionLevel:v PassThru:s
start-transcript Path:w0 LiteralPath:w OutputDirectory:w Append:s Force:s NoClobber:s
set-itemproperty Path:w0 LiteralPath:w PSPath:w LP:w Name:v1 Value:v2 Type:v Force:s PassThru:s
new-itemproperty Path:w0 LiteralPath:w Name:v1 Value:v PropertyType:v Type:v Force:s
remove-itemproperty Path:w0 LiteralPath:w Name:v1 Force:s
set-acl Path:w0 LiteralPath:w AclObject:v1
unblock-file Path:w0 LiteralPath:w
invoke-webrequest Uri:v0 OutFile:w InFile:r Method:v Body:v Headers:v UseBasicParsing:s UserAgent:v
  ContentType:v TimeoutSec:v PassThru:s
invoke-restmethod Uri:v0 OutFile:w InFile:r Method:v Body:v Headers:v UseBasicParsing:s ContentType:v
  TimeoutSec:v PassThru:s
start-bitstransfer Source:v0 Destination:w1 DisplayName:v Asynchronous:s
invoke-item Path:x0 LiteralPath:x
import-module Name:x0 Force:s
"""


@dataclass(frozen=True, slots=True)
class BoundOperand:
    """A value with its parameter (lower case) and kind. `values` is None if it is only known when it runs."""

    parameter: str
    kind: str
    values: Values | None
    word: PowerShellWord | None


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """The arguments of a command, assigned to parameters. `strange` are parameters that the table does not
    have."""

    operands: tuple[BoundOperand, ...]
    switches: frozenset[str]
    strange: tuple[str, ...]


@cache
def cmdlet_table(kind: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Maps each cmdlet to its parameters: name -> (kind, position or -1)."""
    text = READER_TABLE if kind == "readers" else WRITER_TABLE
    rows = (line.split() for line in text.replace("\n  ", " ").strip().splitlines())
    return {row[0]: _parse_parameters((*row[1:], *COMMON_PARAMETERS.split())) for row in rows}


def _parse_parameters(texts: tuple[str, ...]) -> dict[str, tuple[str, int]]:
    table: dict[str, tuple[str, int]] = {}
    for text in texts:
        name, _, kind = text.lower().partition(":")
        table[name] = (kind[0], int(kind[1]) if len(kind) > 1 else -1)
    return table


def find_parameters(name: str) -> dict[str, tuple[str, int]] | None:
    """The parameters of a cmdlet in either table."""
    return cmdlet_table("readers").get(name) or cmdlet_table("writers").get(name)


def parse_parameter(word: PowerShellWord) -> tuple[str, str] | None:
    """`-Name` or `-Name:value` as (lower-case name, value), None for a word that is not a parameter."""
    if word.quoted or not word.text or word.text[0] not in "-\u2013\u2014\u2015" or len(word.text) < 2:
        return None
    text = word.text.replace("`", "")[1:]
    name, colon, rest = text.partition(":")
    signs = f"{SINGLE_QUOTES}{DOUBLE_QUOTES}$(@./\\="
    if not name or name[0].isdigit() or any(sign in name for sign in signs):
        return None
    return name.lower(), rest if colon else ""


def bind_arguments(
    command: PowerShellCommand, parameters: dict[str, tuple[str, int]], scope: PowerShellScope
) -> BoundArguments:
    """Assign the arguments of `command` to the parameters of its cmdlet."""
    operands: list[BoundOperand] = []
    switches: set[str] = set()
    strange: list[str] = []
    wanting, place = "", 0
    by_place = {at: (name, kind) for name, (kind, at) in parameters.items() if at >= 0}
    last: tuple[str, str] = ("", "v")
    accepted: set[str] = set()
    for word in command.words[1:]:
        text = None if word.joined else parse_parameter(word)
        if text is None:
            if word.joined:
                name, kind = last
            elif wanting:
                name, kind = wanting, parameters[wanting][0]
            else:
                free = [at for at in by_place if at >= place and by_place[at][0] not in accepted]
                name, kind = by_place[min(free)] if free else ("", "x" if by_place else "v")
                place = min(free) + 1 if free else place + 1
            operands.append(BoundOperand(name, kind, fold_word(word, scope), word))
            accepted.add(name)
            last, wanting = (name, kind), ""
            continue
        wanting = ""
        full = resolve_parameter(text[0], parameters)
        if not full:
            strange.append(text[0])
        elif parameters[full][0] == "s":
            switches.add(full)
        elif parameters[full][0] == "x" and not text[1]:
            strange.append(full)
            wanting = full
        elif text[1]:
            rest = PowerShellWord(word.pieces, text[1])
            values = fold_word(word, scope)
            cut = None if values is None else tuple(value.partition(":")[2] for value in values)
            operands.append(BoundOperand(full, parameters[full][0], cut, rest))
            accepted.add(full)
            last = (full, parameters[full][0])
        else:
            wanting = full
    return BoundArguments(tuple(operands), frozenset(switches), tuple(strange))


def resolve_parameter(text: str, parameters: dict[str, tuple[str, int]]) -> str:
    """The parameter that an abbreviation means; if several fit, the one with the most effect."""
    if text in parameters:
        return text
    fits = [name for name in parameters if name.startswith(text)]
    kinds = {parameters[name][0] for name in fits}
    return fits[0] if fits and (len(fits) == 1 or len(kinds) == 1) else ""
