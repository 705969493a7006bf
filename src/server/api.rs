//! Which functions of the module API we need, and the one way to call them.
//!
//! The crate keeps every API function as an optional pointer, filled when the module loads. They
//! are checked once, by [`missing`]; after that [`api!`] calls them without a check.

use redis_module::raw;

/// Calls a function of the module API.
///
/// Must be in an `unsafe` block whose SAFETY comment argues for the arguments. The pointer
/// itself is good: every name used with this macro is in [`REQUIRED`] (a test reads the sources
/// to make sure), and a module that lacks one of these is never loaded.
macro_rules! api {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let function = redis_module::raw::$function;
        debug_assert!(function.is_some());
        function.unwrap_unchecked()($($argument),*)
    }};
}
pub(super) use api;

macro_rules! required {
    ($($function:ident)*) => {
        const REQUIRED: &[(&str, fn() -> bool)] = &[$(
            (stringify!($function), || {
                // SAFETY: the pointers are written before our load function runs and never again.
                let pointer = unsafe { raw::$function };
                pointer.is_some()
            }),
        )*];
    };
}

required! {
    RedisModule_ACLCheckCommandPermissions
    RedisModule_Alloc
    RedisModule_AvoidReplicaTraffic
    RedisModule_BlockClient
    RedisModule_Call
    RedisModule_CallReplyArrayElement
    RedisModule_CallReplyInteger
    RedisModule_CallReplyLength
    RedisModule_CallReplyStringPtr
    RedisModule_CallReplyType
    RedisModule_CloseKey
    RedisModule_CommandFilterArgDelete
    RedisModule_CommandFilterArgGet
    RedisModule_CommandFilterArgInsert
    RedisModule_CommandFilterArgReplace
    RedisModule_CommandFilterArgsCount
    RedisModule_CreateCommand
    RedisModule_CreateString
    RedisModule_CreateTimer
    RedisModule_DbSize
    RedisModule_DeleteKey
    RedisModule_EventLoopAddOneShot
    RedisModule_Free
    RedisModule_FreeCallReply
    RedisModule_FreeModuleUser
    RedisModule_FreeServerInfo
    RedisModule_FreeString
    RedisModule_GetAbsExpire
    RedisModule_GetBlockedClientHandle
    RedisModule_GetClientInfoById
    RedisModule_GetCommand
    RedisModule_GetCommandKeys
    RedisModule_GetClientId
    RedisModule_GetClientUserNameById
    RedisModule_GetContextFlags
    RedisModule_GetModuleUserFromUserName
    RedisModule_GetSelectedDb
    RedisModule_GetServerInfo
    RedisModule_HashGet
    RedisModule_HashSet
    RedisModule_InfoAddFieldCString
    RedisModule_InfoAddFieldULongLong
    RedisModule_InfoAddSection
    RedisModule_KeyType
    RedisModule_IsSubEventSupported
    RedisModule_ListGet
    RedisModule_ListPop
    RedisModule_ListPush
    RedisModule_LoadConfigs
    RedisModule_Log
    RedisModule_Milliseconds
    RedisModule_MonotonicMicroseconds
    RedisModule_NotifyKeyspaceEvent
    RedisModule_OpenKey
    RedisModule_RegisterCommandFilter
    RedisModule_RegisterEnumConfig
    RedisModule_RegisterInfoFunc
    RedisModule_RegisterNumericConfig
    RedisModule_RegisterStringConfig
    RedisModule_Replicate
    RedisModule_ReplyWithArray
    RedisModule_ReplyWithError
    RedisModule_ReplyWithLongLong
    RedisModule_ReplyWithMap
    RedisModule_ReplyWithNull
    RedisModule_ReplyWithSimpleString
    RedisModule_ReplyWithStringBuffer
    RedisModule_RetainString
    RedisModule_SelectDb
    RedisModule_ServerInfoGetFieldC
    RedisModule_SetAbsExpire
    RedisModule_SetCommandInfo
    RedisModule_SetDisconnectCallback
    RedisModule_SetModuleOptions
    RedisModule_SignalModifiedKey
    RedisModule_StopTimer
    RedisModule_StreamAdd
    RedisModule_StreamIteratorNextField
    RedisModule_StreamIteratorNextID
    RedisModule_StreamIteratorStart
    RedisModule_StreamIteratorStop
    RedisModule_StringDMA
    RedisModule_StringPtrLen
    RedisModule_StringSet
    RedisModule_StringTruncate
    RedisModule_SubscribeToKeyspaceEvents
    RedisModule_SubscribeToServerEvent
    RedisModule_UnblockClient
    RedisModule_UnregisterCommandFilter
    RedisModule_ValueLength
    RedisModule_ZsetAdd
    RedisModule_ZsetFirstInScoreRange
    RedisModule_ZsetLastInScoreRange
    RedisModule_ZsetRangeCurrentElement
    RedisModule_ZsetRangeEndReached
    RedisModule_ZsetRangeNext
    RedisModule_ZsetRangeStop
    RedisModule_ZsetRem
    RedisModule_ZsetScore
}

/// What Rust's hash tables ask for, and the crate's allocator takes for granted.
const ALIGNMENT: usize = 16;

/// Whether the server's memory is aligned well enough for Rust. It is with jemalloc and on glibc.
/// A server built with `MALLOC=libc` elsewhere keeps the size in the eight bytes in front of each
/// block.
pub(crate) fn is_memory_aligned() -> bool {
    [16, 32, 48, 64].into_iter().all(|size| {
        // SAFETY: nobody else has the block, which is freed once and never read.
        let address = unsafe {
            let block = api!(RedisModule_Alloc(size));
            api!(RedisModule_Free(block));
            block.addr()
        };
        address.is_multiple_of(ALIGNMENT)
    })
}

/// The first API function that this server lacks, by name; none when all are there.
pub(crate) fn missing() -> Option<&'static str> {
    REQUIRED.iter().find(|(_, is_there)| !is_there()).map(|(name, _)| *name)
}
