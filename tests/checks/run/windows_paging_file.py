from tests.examples import windows, with_error, with_torch

PAGING = r'OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading "C:\v\torch\lib\c10.dll"'

BAD = {
    "WinError 1455": with_error(windows(), "winerror-1455", PAGING),
    "and its traceback": with_error(with_error(windows(), "winerror-1455", PAGING), "exception", PAGING, "OSError"),
    "pasted: OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading 'C:\\v\\": (
        'OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading "C:\\v\\lib\\site-packages\\torch\\lib\\cudnn_cnn_infer64_8.dll" or one of its dependencies.\n'
    ),
}
GOOD = {
    "healthy": with_torch(windows(), "2.6.0+cpu"),
    "a missing DLL": with_error(windows(), "winerror-126", r'[WinError 126] Error loading "C:\v\torch\lib\c10.dll"'),
}
