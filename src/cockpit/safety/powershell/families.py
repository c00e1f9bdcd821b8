"""Cmdlets by what they do: those that are refused whatever their arguments, and those whose capability
a person should see. What is in no table is asked about."""

from functools import cache

from cockpit.plugin.tools import Capability
from cockpit.safety.powershell.findings import Finding, ask, deny

DENIED: tuple[tuple[str, Capability, str, str], ...] = (
    ("ps-disk", "host.mutate", "it wipes or changes disks", """
     clear-disk format-volume initialize-disk remove-partition set-disk reset-physicaldisk remove-virtualdisk
     remove-storagepool set-partition new-partition resize-partition remove-volume optimize-volume
     dismount-diskimage clear-storagediagnosticinfo update-disk format diskpart remove-vhd convert-vhd"""),
    ("ps-power", "host.mutate", "it turns the machine off", """
     stop-computer restart-computer suspend-computer shutdown logoff"""),
    ("ps-defender", "host.mutate", "it weakens the machine's protection", """
     set-mppreference add-mppreference remove-mppreference uninstall-windowsdefender disable-netfirewallrule
     remove-netfirewallrule set-netfirewallprofile set-netfirewallsetting disable-tlscipher
     set-processmitigation remove-mpthreat disable-bitlocker suspend-bitlocker clear-tpm"""),
    ("ps-logs", "host.mutate", "it removes traces", """
     clear-eventlog remove-eventlog limit-eventlog clear-history"""),
    ("ps-shadow", "host.mutate", "it removes backups", """
     disable-computerrestore remove-wbbackupset remove-windowsbackup reagentc"""),
    ("ps-persist", "persist", "it plants something that runs later", """
     register-scheduledtask register-scheduledjob set-scheduledtask new-scheduledtask new-service
     new-scheduledtaskaction
     register-wmievent set-wmiinstance register-cimindicationevent new-scheduledtasktrigger
     add-jobtrigger new-jobtrigger enable-scheduledjob at installutil"""),
    ("ps-users", "priv", "it changes users or what they may do", """
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
ASKED: tuple[tuple[str, Capability, str, str], ...] = (
    ("ps-net", "net.egress", "it speaks to the network", """
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
    ("ps-host", "host.mutate", "it changes the machine's settings", """
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
def _table() -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for rule, capability, reason, names in ASKED:
        found |= dict.fromkeys(names.split(), ask(rule, reason, capability, risk=55))
    for rule, capability, reason, names in DENIED:
        found |= dict.fromkeys(names.split(), deny(rule, reason, capability))
    return found


def family(name: str) -> Finding | None:
    """What is always true of the command `name`, or None."""
    return _table().get(name)
