// Opens the page of seckill-top in Chromium, on a server of its own:
// node tools/tests/top/browser.mjs MODULES TARGET REDIS-SERVER [PICTURES]
//
// MODULES is the folder that playwright-core was installed in, TARGET that of cargo's builds. In both
// languages figures, countdowns and a hundred vouchers must be shown, no script may fail, nothing may
// be loaded from elsewhere, no page may be wider than a phone, and a server that goes away and comes
// back must be told of. With PICTURES it takes those of the documentation there, too.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PHONE, launch } from '../../../docs/book/chromium.mjs';

const [modules, target, redisServer, pictures] = process.argv.slice(2);
const WAIT_MS = 20000;
const ODD = '<script>document.title="bad"</script><img src=x onerror="document.title=\'bad\'">';
const SCHEDULED = 'double-11-watch';

const folder = mkdtempSync(path.join(tmpdir(), 'seckill-page-'));
const children = new Set();
function start(command, ...args) {
    const child = spawn(command, args, { cwd: folder, stdio: 'ignore' });
    children.add(child);
    const ended = new Promise(done => child.on('exit', done));
    return async signal => {
        child.kill(signal);
        await ended;
        children.delete(child);
    };
}

async function until(what, isSo) {
    for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
        try {
            if (await isSo()) return;
        } catch { /* not yet */ }
        await new Promise(done => setTimeout(done, 50));
    }
    throw new Error(`${what} took too long`);
}

const free = () => new Promise(done => {
    const server = createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address();
        server.close(() => done(port));
    });
});
const [port, topPort] = [await free(), await free()];
const cli = (...words) => execFileSync('redis-cli', ['-e', '-p', port, ...words],
    { encoding: 'utf8', stdio: 'pipe' }).trim();
async function startServer() {
    const stop = start(redisServer, '--port', port, '--save', '', '--appendonly', 'yes', '--dir', folder,
        '--loadmodule', path.join(target, 'release/libseckill.so'));
    await until('the server', () => cli('PING') === 'PONG');
    return stop;
}
const page_at = `http://127.0.0.1:${topPort}/`;
async function startTop() {
    const stop = start(path.join(target, 'debug/seckill-top'), '--redis', `redis://127.0.0.1:${port}/`,
        '--metrics', `127.0.0.1:${topPort}`);
    await until('seckill-top', async () => (await fetch(`${page_at}healthz`)).ok);
    return stop;
}

/** A tab with the page; `faults` are what went wrong in it. */
async function open(browser, options) {
    const tab = await browser.newPage({ viewport: { width: 1160, height: 760 }, ...options });
    tab.faults = [];
    tab.on('pageerror', error => tab.faults.push(`script: ${error.message}`));
    tab.on('console', message => {
        if (['error', 'warning'].includes(message.type())) tab.faults.push(`console: ${message.text()}`);
    });
    tab.on('request', request => {
        const url = request.url();
        if (!url.startsWith(page_at) && !url.startsWith('data:')) tab.faults.push(`loads ${url}`);
    });
    await tab.goto(page_at);
    return tab;
}
const card = (tab, name) => tab.locator('article').filter({ has: tab.getByText(name, { exact: true }) });
const seen = (place, text) => place.filter({ hasText: text }).first().waitFor({ timeout: WAIT_MS });

/** The sales of a shop on one evening. */
function create(now) {
    cli('SECKILL.CREATE', 'double-11-phone', '4', 'HOLD', '900000', 'END', `${now + 3600000}`);
    cli('SECKILL.CREATE', SCHEDULED, '2000', 'BEGIN', `${now + 1800000}`);
    cli('SET', 'seckill:stock:double-11-tea', '1200');
    cli('SET', `seckill:stock:${ODD}`, '7');
    cli('XGROUP', 'CREATE', 'stream.orders', 'seckill-worker', '0', 'MKSTREAM');
}

async function checkFigures(tab, words) {
    await tab.locator(`[data-lang=${words.lang}]`).click();
    const phone = card(tab, 'double-11-phone');
    for (const text of words.phone) await seen(phone, text);
    await seen(card(tab, SCHEDULED), words.begins);
    await seen(card(tab, ODD), words.left);
    await seen(tab.locator('#way'), words.way);
    await seen(tab.locator('#tries'), words.tries);
    assert.equal(await tab.title(), words.title, 'a voucher is called by its name');
    assert.equal(await tab.locator('img').count(), 0);
    // No word of the other language is left, apart from names and commands.
    const text = (await tab.locator('body').innerText()).replace(/English|中文|seckill-\w+|double-11-\w+|Redis|Valkey/g, '');
    assert.doesNotMatch(text.replaceAll(ODD, ''), words.foreign);
    for (const width of [PHONE.width, 320, 1160]) {
        await tab.setViewportSize({ width, height: 760 });
        const wide = await tab.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${words.lang}: ${wide} pixels wider than ${width}`);
    }
}
const ENGLISH = {
    lang: 'en', title: 'Flash sales', left: /7\s*units left/, begins: /begins in (30:00|29:\d\d)/,
    phone: [/0\s*of 4 left/, /held 3/, /sold 1/, 'sold out', /sold out after \d+\.\d s · ends in 59:\d\d/,
        '1 on the waiting list'],
    way: /4\s*accepted.*0\s*in the database.*4 to go.*no worker.*1\s*paid.*0\s*returned/s,
    tries: /tries .*total 5.*accepted .*total 4/s, foreign: /[\u4e00-\u9fff]/,
};
const CHINESE = {
    lang: 'zh', title: '秒杀大盘', left: /7\s*剩余库存/, begins: /距开始 (30:00|29:\d\d)/,
    phone: [/0\s*\/ 4/, /预扣 3/, /已售 1/, '已售罄', /\d+\.\d秒售罄|\d+\.\d 秒售罄/, /距结束 59:\d\d/, '1 人排队候补'],
    way: /4\s*抢购成功.*0\s*已入库.*待处理 4.*没有消费者.*1\s*已支付.*0\s*已回补/s,
    tries: /请求 .*累计 5.*抢购成功 .*累计 4/s, foreign: /[a-z]{3,}/i,
};

async function checkOutages(tab, servers) {
    const trouble = tab.locator('#trouble');
    const gone = async text => {
        await seen(trouble, text);
        assert.match(await card(tab, 'double-11-phone').innerText(), /of 4 left/, 'figures stay');
    };
    const back = () => trouble.waitFor({ state: 'hidden', timeout: WAIT_MS });
    await servers.redis('SIGKILL');
    await gone("The server can't be read: no connection to");
    servers.redis = await startServer();
    await back();
    assert.deepEqual(tab.faults, []);
    await servers.top('SIGKILL');
    await gone('seckill-top has not answered for');
    servers.top = await startTop();
    await back();
    // Requests that nobody answered are the only faults.
    assert.deepEqual(tab.faults.filter(fault => !fault.includes('Failed to load resource')), []);
    tab.faults = [];
}

async function checkMany(tab) {
    for (let at = 4; at < 100; at++) cli('SET', `seckill:stock:sale-${at}`, `${at}`);
    await until('a hundred vouchers', async () => await tab.locator('article').count() === 100);
    await seen(card(tab, 'sale-99'), /99\s*units left/);
    cli('DEL', 'seckill:stock:sale-99');
    await until('a voucher that is gone', async () => await tab.locator('article').count() === 99);
}

/** A sale whose first orders expire, and wait for it. */
async function takePictures(browser, to) {
    cli('FLUSHALL');
    const now = Date.now();
    cli('SECKILL.CREATE', SCHEDULED, '2000', 'BEGIN', `${now + 1800000}`);
    cli('SET', 'seckill:stock:double-11-tea', '1200');
    const stop = start(path.join(target, 'debug/seckill-worker'), '--redis', `redis://127.0.0.1:${port}/`,
        '--database', `sqlite:${folder}/rows.db`);
    const sold = start(path.join(target, 'debug/seckill-rush'), '--redis', `redis://127.0.0.1:${port}/`,
        '--voucher', 'double-11-phone', '--stock', '4000', '--tries', '20000', '--rate', '1000', '--managed',
        '--hold', '5s', '--end-in', '10m', '--waitlist', '--cancel-share', '0.1');
    const tabs = [];
    for (const [name, colorScheme, locale] of [['page', 'light', 'en-US'], ['zh-CN/page', 'dark', 'zh-CN']]) {
        tabs.push([name, await open(browser, { colorScheme, locale, viewport: { width: 1000, height: 560 } })]);
    }
    await seen(card(tabs[0][1], 'double-11-phone'), 'sold out after');
    await new Promise(done => setTimeout(done, 6000));
    for (const [name, tab] of tabs) await tab.screenshot({ path: path.join(to, `${name}.png`) });
    await sold('SIGTERM');
    await stop('SIGTERM');
}

const servers = { redis: await startServer(), top: await startTop() };
const browser = await launch(modules);
try {
    const tab = await open(browser, { locale: 'en-US' });
    await seen(tab.locator('#more'), 'No voucher yet');
    create(Date.now());
    await seen(card(tab, 'double-11-phone'), /4\s*of 4 left/);
    for (const order of [1, 2, 3, 4, 5]) {
        cli('SECKILL.TRY', 'double-11-phone', `user-${order}`, `o${order}`, 'WAITLIST');
    }
    cli('SECKILL.CONFIRM', 'double-11-phone', 'user-2', 'o2');
    await checkFigures(tab, ENGLISH);
    await checkFigures(tab, CHINESE);
    await tab.reload();
    await seen(tab.locator('h1'), CHINESE.title); // it is remembered
    const other = await open(browser, { locale: 'zh-CN', colorScheme: 'dark', viewport: PHONE });
    await seen(other.locator('h1'), CHINESE.title); // and is the browser's own at first
    assert.deepEqual(other.faults, []);
    await other.close();
    await tab.locator('[data-lang=en]').click();
    await checkOutages(tab, servers);
    await checkMany(tab);
    assert.deepEqual(tab.faults, []);
    await tab.close();
    if (pictures) await takePictures(browser, path.resolve(pictures));
    console.log('page: both languages, 100 vouchers, outages, phones: no fault');
} finally {
    await browser.close();
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
}
