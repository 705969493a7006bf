// Starts Chromium for those who check pages in it.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

export const PHONE = { width: 375, height: 812 };

/** A headless Chromium, by the playwright-core that was installed in a folder. */
export function launch(modules, ...args) {
    const { chromium } = createRequire(`${modules}/`)('playwright-core');
    const names = ['chromium', 'chromium-browser', 'google-chrome'];
    const folders = process.env.PATH.split(':');
    const found = folders.flatMap(folder => names.map(name => path.join(folder, name)));
    const executablePath = process.env.CHROMIUM ?? found.find(existsSync);
    if (!executablePath) {
        console.error('no Chromium here; scripts/setup book installs it, or name one as CHROMIUM');
        process.exit(2);
    }
    return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', ...args] });
}
