"""The default aliases of PowerShell (5.1 and 7), and how a name is said: case, module, `.exe`."""

import re

from cockpit.workspace.words import words

TABLE = """
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
ALIASES = dict(pair.split("=", 1) for pair in TABLE.split())
ALIASES["write"] = "write-output"
# Where PowerShell runs on Unix these are the system's own programs: both meanings are judged.
NATIVE_TOO = words(
    """
    cat cp diff echo kill ls man mount mv ps pwd rm rmdir sleep sort tee curl wget clear compare history
    mkdir
    """
)
MODULE = re.compile(
    r"^(?:microsoft|cim|storage|net|defender|schedule|psreadline|powershell)[\w.]*\\", re.IGNORECASE
)
ENDINGS = (".exe", ".com", ".bat", ".cmd")


def full_name(said: str, own: dict[str, str]) -> str:
    """The lower-case name of the command that `said` means: aliases, modules, paths and endings off."""
    name = said.strip().lower()
    for _ in range(4):
        name = MODULE.sub("", name)
        if name in own and own[name] != name:
            name = own[name].lower()
        else:
            break
    if name in ALIASES:
        return ALIASES[name]
    base = re.split(r"[\\/]", name)[-1]
    for ending in ENDINGS:
        if base.endswith(ending):
            return base.removesuffix(ending)
    if re.split(r"[\\/]", name)[-1] != name and not base.endswith(".ps1"):
        return base
    return ALIASES.get(base, base) if base == name else name


def is_path(said: str) -> bool:
    """Whether a command is named by a path, so that it is whatever file lies there."""
    return bool(re.search(r"[\\/]", MODULE.sub("", said))) or said.lower().endswith(
        (".ps1", ".bat", ".cmd", ".psm1")
    )
