from doctor.model.facts import ImportFailure
from tests.examples import linux, windows, with_error, with_torch

FBGEMM = r'OSError: [WinError 126] The specified module could not be found. Error loading "C:\v\Lib\site-packages\torch\lib\fbgemm.dll"'
C10 = r'[WinError 1114] A dynamic link library (DLL) initialization routine failed. Error loading "C:\v\torch\lib\c10.dll"'
PAGING = r'OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading "C:\v\torch\lib\c10.dll"'

BAD = {
    "pasted: Triton's": (
        "Windows 11\nImportError: DLL load failed while importing libtriton: "
        "A dynamic link library (DLL) initialization routine failed.\n"
    ),
    "pasted: a DLL of cuDNN": (
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!\n"
    ),
    "pasted: NVRTC's": "RuntimeError: nvrtc: error: failed to open nvrtc-builtins64_112.dll.\n",
    "pasted: CTranslate2's words": "RuntimeError: Library cublas64_12.dll is not found or cannot be loaded\n",
    "pasted: torch's own loader, the file left out": (
        "Traceback (most recent call last):\n"
        '  File "<stdin>", line 1, in <module>\n'
        '  File "C:\\Python37\\lib\\site-packages\\torch\\__init__.py", line 81, in <module>\n'
        "    ctypes.CDLL(dll)\n"
        '  File "C:\\Python37\\lib\\ctypes\\__init__.py", line 364, in __init__\n'
        "    self._handle = _dlopen(self._name, mode)\n"
        "OSError: [WinError 126] The specified module could not be found\n"
    ),
    "fbgemm.dll of 2.4.0": with_error(with_torch(windows(), "2.4.0+cu121", imports=False), "winerror-126", FBGEMM),
    "c10.dll and an old runtime, live": with_torch(
        windows(),
        "2.9.0+cpu",
        imports=False,
        import_failure=ImportFailure(kind="exception", exception="OSError", message=C10),
    ),
    "no runtime at all": with_error(
        windows(), "vc-redistributable-missing", "Microsoft Visual C++ Redistributable is not installed"
    ),
    "the C extension": with_error(
        windows(),
        "exception",
        "ImportError: DLL load failed while importing _C: The specified module could not be found.",
        "ImportError",
    ),
    "pasted: OSError: [WinError 127] The specified procedure could not be": (
        'OSError: [WinError 127] The specified procedure could not be found. Error loading "C:\\Users\\user\\env\\lib\\site-packages\\torch\\lib\\torch_python.dll" or one of its dependencies.\n'
    ),
    "pasted: OSError: [WinError 1114] A dynamic link library (DLL) initia": (
        'OSError: [WinError 1114] A dynamic link library (DLL) initialization routine failed. Error loading "D:\\venv\\Lib\\site-packages\\torch\\lib\\c10.dll" or one of its dependencies.\n'
        ">>> torch 2.9.0+cpu"
    ),
    "pasted: OSError: [WinError 126] 找不到指定的模块。 Error loading 'C:\\p\\Lib\\si": (
        "Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.\n"
        "It can be downloaded at https://aka.ms/vs/16/release/vc_redist.x64.exe\n"
        "Traceback (most recent call last):\n"
        'OSError: [WinError 126] 找不到指定的模块。 Error loading "C:\\p\\Lib\\site-packages\\torch\\lib\\c10.dll" or one of its dependencies.\n'
    ),
    "pasted: ImportError: DLL load failed while importing _C: The specifi": (
        "ImportError: DLL load failed while importing _C: The specified module could not be found.\n"
        '  File "C:\\v\\lib\\site-packages\\torch\\__init__.py", line 236, in <module>\n'
        "    from torch._C import *\n"
    ),
    "pasted: [WinError 182] The operating system cannot run %1. Error loa": (
        '[WinError 182] The operating system cannot run %1. Error loading "C:\\v\\lib\\site-packages\\torch\\lib\\shm.dll" or one of its dependencies.\n'
    ),
    "pasted: broken over lines by a rich console": (
        "OSError: [WinError 126] The specified module could not be found. Error loading\n"
        '"C:\\v\\Lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its\n'
        "dependencies.\n"
    ),
}
GOOD = {
    "the paging file": with_error(windows(), "winerror-1455", PAGING),
    "an extension's own": with_error(
        with_torch(windows(), "2.6.0+cu124"), "exception",
        "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could not be found.",
    ),
    "Linux": with_error(linux(), "exception", "ImportError: libgomp.so.1: cannot open shared object file"),
    "healthy": with_torch(windows(), "2.6.0+cpu"),
}  # fmt: skip
BAD["a module that is not built against torch"] = """\
Windows 10
ImportError: DLL load failed while importing onnx_cpp2py_export: A dynamic link library (DLL) initialization routine failed.
"""
BAD["ctypes tells no number"] = """\
Traceback (most recent call last):
  File "c:\\py\\lib\\site-packages\\torch\\__init__.py", line 81, in <module>
    ctypes.CDLL(dll)
FileNotFoundError: Could not find module 'c:\\py\\lib\\site-packages\\torch\\lib\\caffe2_nvrtc.dll' (or one of its dependencies).
"""
