package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object, which holds a process and all that it starts. The leader enters it just after its start:
// what it might start before that is outside. Closing the job ends all that is in it, also when this process dies.
type group struct {
	job windows.Handle
	id  uint32
}

func (g *group) prepare(cmd *exec.Cmd) error {
	// Without a process group of its own the leader would get this console's ^C.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create job object: %w", err)
	}
	g.job = job
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		g.close()
		return fmt.Errorf("set up job object: %w", err)
	}
	return nil
}

func (g *group) adopt(leader *os.Process) error {
	g.id = uint32(leader.Pid)
	var assigned error
	err := leader.WithHandle(func(handle uintptr) {
		h := windows.Handle(handle)
		if assigned = windows.AssignProcessToJobObject(g.job, h); assigned != nil {
			if event, _ := windows.WaitForSingleObject(h, 0); event == windows.WAIT_OBJECT_0 {
				assigned = nil // it has exited already
			}
		}
	})
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err = errors.Join(err, assigned); err != nil {
		return fmt.Errorf("put it in a job object: %w", err)
	}
	return nil
}

// ask reaches the console programs of the group, as far as they share a console with this process.
func (g *group) ask() { _ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.id) }

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

// killNow may be called while another goroutine looks after the group. The job is killed when this process ends,
// since that closes its handle.
func (g *group) killNow() {}

func (g *group) alive() bool {
	var accounting struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&accounting)), uint32(unsafe.Sizeof(accounting)), nil)
	return err == nil && accounting.ActiveProcesses > 0
}

func (g *group) close() { _ = windows.CloseHandle(g.job) }

func signalName(*os.ProcessState) string { return "" }

func isTooLong(err error) bool {
	return errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE) || errors.Is(err, syscall.E2BIG)
}
