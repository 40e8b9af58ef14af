//! The names that Python and IPython define.

const BUILTINS: &str = "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError \
    BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError \
    ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError \
    Exception ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit \
    IOError ImportError ImportWarning In IndentationError IndexError InterruptedError IsADirectoryError KeyError \
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented \
    NotImplementedError OSError Out OverflowError PendingDeprecationWarning PermissionError ProcessLookupError \
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration \
    StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError \
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning \
    UserWarning ValueError Warning ZeroDivisionError __annotations__ __builtins__ __debug__ __doc__ __file__ __import__ \
    __name__ abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex \
    copyright credits delattr dict dir display divmod enumerate eval exec exit filter float format frozenset \
    get_ipython getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list locals \
    map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice \
    sorted staticmethod str sum super tuple type vars zip";

/// Whether a name is there in every kernel, though no cell defines it.
pub fn is_builtin(name: &str) -> bool {
    // `_`, `__`, `_3`, `_i3` are earlier outputs and inputs.
    let is_history = name.strip_prefix('_').is_some_and(|rest| {
        rest.trim_start_matches(['_', 'i']).bytes().all(|byte| byte.is_ascii_digit())
    });
    is_history || BUILTINS.split(' ').any(|builtin| builtin == name)
}
