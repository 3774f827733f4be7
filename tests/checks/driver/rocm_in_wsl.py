from dataclasses import replace

from tests.examples import linux, with_amd, with_error, with_torch

RX = "AMD Radeon RX 7900 XTX"
IN_WSL = replace(linux(wsl=2, dxg=True), gpus=None)
NOT_LOADED = "ROCk module is NOT loaded, possibly no GPU devices"

BAD = {
    "torch's ROCm build finds nothing": with_torch(IN_WSL, "2.6.0+rocm6.2.4", cuda_available=False),
    "rocminfo says so": with_error(IN_WSL, "rock-module-not-loaded", NOT_LOADED),
    "WSL 1": with_torch(replace(linux(wsl=1), gpus=None), "2.6.0+rocm6.2.4", cuda_available=False),
    "pasted": "Ubuntu 22.04 in WSL2, RX 7900 XTX\n$ rocminfo\n" + NOT_LOADED + "\n",
    "no /dev/kfd is no matter of groups": "$ uname -r\n5.15.153.1-microsoft-standard-WSL2\n$ rocminfo\n"
    "WSL environment detected.\nhsa api call failure at: /src/rocminfo/rocminfo.cc:1087\n"
    "hsa_init Failed, possibly no supported GPU devices\n",
}
GOOD = {
    "it works": with_torch(IN_WSL, "2.6.0+rocm6.2.4", cuda_available=True),
    "Linux itself": with_error(with_amd(linux(), RX, kernel_driver=False, kfd=False), "rock-module-not-loaded", NOT_LOADED),
    "a CUDA build in WSL": with_torch(IN_WSL, "2.6.0+cu124", cuda_available=False),
}
