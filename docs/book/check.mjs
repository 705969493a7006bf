// Opens every page of the built book in Chromium: node docs/book/check.mjs BOOK MODULES [SCREENSHOT]
//
// MODULES is the folder that playwright-core was installed in. No script may fail, no page may be
// wider than a phone, every link within the book must lead to a page and a heading that are there,
// and in both editions the search and the link to the other edition must work.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PHONE, launch } from './chromium.mjs';

const [book, modules, screenshot] = process.argv.slice(2).map(name => path.resolve(name));
const DESK = { width: 1100, height: 640 };
const TABS = 4;

/** What a page has: its ids, its links, and what is wider than the screen. */
function look() {
    const addresses = (selector, name) =>
        [...document.querySelectorAll(selector)].map(element => element[name]);
    const { scrollWidth } = document.scrollingElement;
    return {
        ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
        links: [...addresses('a[href]', 'href'), ...addresses('img[src]', 'src')],
        width: scrollWidth > innerWidth ? scrollWidth : 0,
        switched: document.querySelector('.edition a')?.href,
    };
}

/** Opens the pages, one after the other in each of some tabs; complaints by page. */
async function open(browser, pages) {
    const seen = new Map();
    const left = [...pages];
    const tab = async () => {
        const page = await browser.newPage({ viewport: PHONE });
        let faults = [];
        page.on('pageerror', error => faults.push(`script: ${error.message}`));
        page.on('console', message => {
            if (['error', 'warning'].includes(message.type())) {
                faults.push(`console: ${message.text()}`);
            }
        });
        for (let name = left.pop(); name; name = left.pop()) {
            faults = [];
            await page.goto(pathToFileURL(name).href, { waitUntil: 'load' });
            const facts = await page.evaluate(look);
            if (facts.width) {
                faults.push(`is ${facts.width} pixels wide on a phone of ${PHONE.width}`);
            }
            seen.set(name, { ...facts, faults });
        }
        await page.close();
    };
    await Promise.all(Array.from({ length: TABS }, tab));
    return seen;
}

/** What is wrong with a link, if anything. */
function fault(link, seen) {
    const url = new URL(link);
    if (url.protocol !== 'file:') {
        const known = ['http:', 'https:', 'mailto:'].includes(url.protocol);
        return known ? undefined : `${link} is no address`;
    }
    const name = fileURLToPath(new URL(url.pathname, 'file://'));
    if (!name.startsWith(book) && !seen.has(name)) {
        return `${link} leads out of the book`;
    }
    if (!existsSync(name)) {
        return `${link} is missing`;
    }
    const id = decodeURIComponent(url.hash.slice(1));
    const there = seen.get(name);
    return id && there && !there.ids.includes(id) ? `${link} has no such heading` : undefined;
}

function faultsOf(seen) {
    const faults = [];
    for (const [name, page] of seen) {
        const links = [...new Set(page.links)].map(link => fault(link, seen)).filter(Boolean);
        const short = path.relative(book, name);
        faults.push(...[...page.faults, ...links].map(text => `${short}: ${text}`));
    }
    return faults;
}

/** Searches for a word, and follows the first result, where it must stand. */
async function search(page, start, word) {
    await page.goto(pathToFileURL(start).href);
    await page.click('#mdbook-search-toggle');
    await page.fill('#mdbook-searchbar', word);
    await page.press('#mdbook-searchbar', 'End'); // it searches when a key is released
    await page.waitForSelector('#mdbook-searchresults a', { timeout: 20000 });
    await page.click('#mdbook-searchresults a');
    await page.waitForURL(url => url.search.includes('highlight'), { timeout: 20000 });
    const text = await page.textContent('main');
    if (!text.toLowerCase().includes(word.toLowerCase())) {
        throw new Error(`a search for ${word} led to ${page.url()}`);
    }
}

async function change(page, start, wanted) {
    await page.goto(pathToFileURL(start).href);
    await page.click('.edition a');
    await page.waitForURL(url => url.pathname.endsWith(wanted), { timeout: 20000 });
}

const browser = await launch(modules, '--allow-file-access-from-files');
try {
    // What can't find faults says nothing when it finds none.
    const bad = fileURLToPath(new URL('faults.html', import.meta.url));
    const known = faultsOf(await open(browser, [bad])).join('\n');
    for (const part of ['#nowhere has', 'missing.html leads', 'missing.svg', 'pixels wide', 'undefined_']) {
        if (!known.includes(part)) {
            throw new Error(`faults.html: ${part} was not found in:\n${known}`);
        }
    }

    const all = readdirSync(book, { recursive: true }).map(name => path.join(book, name));
    const pages = all.filter(
        name => name.endsWith('.html') && !/(^|\/)(404|toc|book\/index)\.html$/.test(name),
    );
    const seen = await open(browser, pages);
    const faults = faultsOf(seen);
    for (const [name, page] of seen) {
        if (!page.switched) {
            faults.push(`${path.relative(book, name)}: no link to the other edition`);
        }
    }
    const page = await browser.newPage({ viewport: DESK });
    page.on('pageerror', error => faults.push(`script: ${error.message}`));
    const at = name => path.join(book, name);
    await search(page, at('en/index.html'), 'fencing token');
    await search(page, at('zh-CN/index.html'), '预扣');
    await change(page, at('en/tutorial.html'), 'zh-CN/tutorial.html');
    await change(page, at('zh-CN/tutorial.html'), 'en/tutorial.html');
    await page.goto(pathToFileURL(at('index.html')).href);
    await page.waitForURL(url => url.pathname.endsWith('en/index.html'), { timeout: 20000 });
    if (screenshot) {
        await page.goto(pathToFileURL(at('en/managed-sales.html')).href);
        await page.screenshot({ path: screenshot });
    }
    if (faults.length > 0) {
        console.error(faults.join('\n'));
        process.exitCode = 1;
    } else {
        console.log(`book: ${seen.size} pages opened, no fault`);
    }
} finally {
    await browser.close();
}
