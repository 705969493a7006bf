// Lays out the pages of both editions for mdBook: node docs/book/pages.mjs FOLDER
//
// The pages stay where GitHub shows them; the README.md of each edition lists those in the book. A
// link to a page of the other edition leads there, and one to a source file to a copy of its text.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const out = process.argv[2];
const editions = [
    { name: 'en', word: 'English', home: 'README.md', index: 'docs/README.md' },
    { name: 'zh-CN', word: '中文', home: 'README.zh-CN.md', index: 'docs/zh-CN/README.md' },
];
const complaints = [];

const read = source => readFileSync(path.join(root, source), 'utf8');
const html = name => name.replace(/\.md$/, '.html');

/** The name of a page in its edition: twins have the same one. */
function nameOf(source, edition) {
    if (source === edition.home) {
        return 'index.md';
    }
    const name = source.replace(/^docs\/(zh-CN\/)?/, '');
    if (name === 'README.md') {
        return 'overview.md';
    }
    return name.includes('/') ? name.replace(/README\.md$/, 'index.md') : name.toLowerCase();
}

/** mdBook's SUMMARY.md: the headings of an index, and the links that begin lines and rows below. */
function contents({ index, home }) {
    const lines = read(index).split('\n');
    const up = path.relative(path.dirname(index), home);
    const chapters = [`[seckill](${up})`, `[${lines[0].slice(2)}](README.md)`];
    for (const line of lines.slice(lines.findIndex(line => line.startsWith('## ')))) {
        if (line.startsWith('## ')) {
            chapters.push('', line.slice(1), '');
        } else if (/^(\| )?\[/.test(line)) {
            const links = line.split(' | ')[0].matchAll(/\[(.+?)\]\(([^)]+)\)/g);
            chapters.push(...[...links].map(([, text, target]) => `- [${text}](${target})`));
        }
    }
    return `${chapters.join('\n')}\n`;
}

/** Copies a file that is no page into the edition, and answers its name there. */
function copy(source, edition) {
    const isFolder = statSync(path.join(root, source)).isDirectory();
    const isImage = /\.(svg|png)$/.test(source);
    const name = `files/${source}${isImage ? '' : '.txt'}`;
    const target = path.join(out, edition.name, name);
    mkdirSync(path.dirname(target), { recursive: true });
    if (isFolder) {
        writeFileSync(target, execFileSync('git', ['ls-files', source], { cwd: root }));
    } else {
        cpSync(path.join(root, source), target);
    }
    return name;
}

/** Where a link of the page `source` leads in the book. */
function linkTo(target, source, edition) {
    if (/^([a-z]+:|#)/.test(target)) {
        return target;
    }
    const [file, anchor] = target.split('#');
    const wanted = path.join(path.dirname(source), file).replace(/\/$/, '');
    const here = path.dirname(nameOf(source, edition));
    const behind = anchor === undefined ? '' : `#${anchor}`;
    if (edition.pages.has(wanted)) {
        return path.relative(here, html(nameOf(wanted, edition))) + behind;
    }
    const other = editions.find(({ pages }) => pages.has(wanted));
    if (other) {
        return path.relative(here, `../${other.name}/${html(nameOf(wanted, other))}`) + behind;
    }
    if (!existsSync(path.join(root, wanted)) || wanted.endsWith('.md')) {
        complaints.push(`${source}: ${target} is in no edition's README.md`);
        return target;
    }
    return path.relative(here, copy(wanted, edition));
}

/** The text of a page with its links changed, outside of code. */
function withLinks(page, change) {
    const links = /(`+)[^]*?\1|\]\(([^)\s]+)\)|\b(src|href)="([^"]+)"/g;
    const replaced = (all, _ticks, target, attribute, value) => {
        if (target) {
            return `](${change(target)})`;
        }
        return attribute ? `${attribute}="${change(value)}"` : all;
    };
    const blocks = page.split(/^( *```[^]*?^ *```$)/m);
    const prose = text => text.split('\n\n').map(part => part.replace(links, replaced)).join('\n\n');
    return blocks.map((block, index) => (index % 2 ? block : prose(block))).join('');
}

function write(edition, name, text) {
    const target = path.join(out, edition.name, name);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
}

for (const edition of editions) {
    const folder = path.dirname(edition.index);
    edition.text = contents(edition);
    const targets = [...edition.text.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
    edition.pages = new Set(targets.map(target => path.join(folder, target)));
    edition.names = new Set([...edition.pages].map(page => nameOf(page, edition)));
}

for (const [index, edition] of editions.entries()) {
    const other = editions[1 - index];
    const folder = path.dirname(edition.index);
    const inBook = target => nameOf(path.join(folder, target), edition);
    write(edition, 'SUMMARY.md', withLinks(edition.text, inBook));
    for (const source of edition.pages) {
        if (!existsSync(path.join(root, source))) {
            complaints.push(`${edition.index}: ${source} is missing`);
            continue;
        }
        const name = nameOf(source, edition);
        const twin = html(other.names.has(name) ? name : 'index.md');
        const href = path.relative(path.dirname(name), `../${other.name}/${twin}`);
        const link = `<a href="${href}" lang="${other.name}" aria-label="${other.word}"></a>`;
        // Where there is no book the page itself links to its twin, in a line of its own.
        const page = read(source).replace(/^\[(English|中文)\]\([^)]*\)\n\n/m, '');
        const text = withLinks(page, target => linkTo(target, source, edition));
        // The highlighter knows no language of this name.
        const plain = text.replaceAll(/^( *```)redis-cli$/gm, '$1text');
        write(edition, name, `<nav class="edition">${link}</nav>\n\n${plain}`);
    }
}

if (complaints.length > 0) {
    console.error(complaints.join('\n'));
    process.exit(1);
}
