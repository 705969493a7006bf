//! The library of Redis Functions that change a shard, each in one step.
//!
//! Functions, not scripts, because a user that may send scripts can send an endless one.
//! An administrator loads the library once, into every primary. Its name is made of its text, so
//! that programs of two versions can work side by side.

use anyhow::{Context, Result};
use domain::scripts::Sha1;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ServerErrorKind};
use seckill_tools::connection::Connection;

use seckill_tools::sharded_sale::Shard;

#[derive(Clone, Copy)]
pub enum Function {
    Open,
    Opened,
    Take,
    Put,
    Done,
    Drop,
    Clear,
}

const COMMON: &str = include_str!("common.lua");

impl Function {
    const ALL: [Function; 7] = [
        Function::Open,
        Function::Opened,
        Function::Take,
        Function::Put,
        Function::Done,
        Function::Drop,
        Function::Clear,
    ];

    /// Name and body.
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Function::Open => ("open", include_str!("open.lua")),
            Function::Opened => ("opened", include_str!("opened.lua")),
            Function::Take => ("take", include_str!("take.lua")),
            Function::Put => ("put", include_str!("put.lua")),
            Function::Done => ("done", include_str!("done.lua")),
            Function::Drop => ("drop", include_str!("drop.lua")),
            Function::Clear => ("clear", include_str!("clear.lua")),
        }
    }

    /// What ends something also runs while memory is full.
    fn flags(self) -> &'static str {
        match self {
            Function::Done | Function::Drop | Function::Clear => "'allow-oom'",
            Function::Open | Function::Opened | Function::Take | Function::Put => "",
        }
    }

    /// The name under which the server calls it.
    fn name(self) -> String {
        format!("{}_{}", library_name(), self.parts().0)
    }

    /// Changes a shard. Loads the library where the server lacks it, if the user may do that.
    pub async fn run<T: FromRedisValue>(
        self,
        link: &mut Connection,
        shard: &Shard,
        arguments: &[String],
    ) -> RedisResult<T> {
        let mut call = redis::cmd("FCALL");
        call.arg(self.name()).arg(3).arg(&shard.stock).arg(&shard.journal).arg(&shard.rules);
        call.arg(&shard.voucher).arg(arguments);
        let mut reply = call.query_async(link).await;
        if reply.as_ref().is_err_and(is_missing) {
            loading().query_async::<()>(link).await.map_err(named)?;
            reply = call.query_async(link).await;
        }
        reply
    }
}

/// Loads the library into the server, or into every primary of the cluster.
pub async fn load(link: &mut Connection) -> Result<String> {
    loading().query_async::<()>(link).await.context("loading the functions")?;
    Ok(library_name())
}

fn loading() -> Cmd {
    let mut load = redis::cmd("FUNCTION");
    load.arg("LOAD").arg("REPLACE").arg(library());
    load
}

fn is_missing(error: &RedisError) -> bool {
    error.detail().is_some_and(|said| said.contains("Function not found"))
}

/// Says what to do where the user may not load the library.
fn named(error: RedisError) -> RedisError {
    if error.kind() != ErrorKind::Server(ServerErrorKind::NoPerm) {
        return error;
    }
    let what = "the server lacks the functions of this program: as an administrator, run \
                seckill-shards load";
    RedisError::from((ErrorKind::Client, what))
}

fn bodies() -> String {
    let functions = Function::ALL.map(|function| {
        let (name, body) = function.parts();
        format!("local function {name}(KEYS, ARGV)\n{body}end\n")
    });
    format!("{COMMON}{}", functions.concat())
}

fn library_name() -> String {
    format!("seckill_shards_{:.8}", Sha1::of(bodies().as_bytes()).to_string())
}

fn library() -> String {
    let registered = Function::ALL.map(|function| {
        let (name, _) = function.parts();
        let (full, flags) = (function.name(), function.flags());
        format!(
            "redis.register_function{{function_name = '{full}', callback = {name}, \
             flags = {{{flags}}}}}\n"
        )
    });
    format!("#!lua name={}\n{}{}", library_name(), bodies(), registered.concat())
}
