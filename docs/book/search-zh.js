// Search in the Chinese edition. mdBook's index is cut into words at spaces, which Chinese doesn't
// have. So the same index is searched here as text: a page that has all the terms is found.
'use strict';

(() => {
    if (!document.documentElement.lang.startsWith('zh') || !window.elasticlunr) {
        return;
    }
    const count = (text, term) => text.split(term).length - 1;
    const score = (doc, term) =>
        20 * count(doc.title.toLowerCase(), term) + count(doc.body.toLowerCase(), term);
    const { Index } = window.elasticlunr;
    const load = Index.load.bind(Index);
    Index.load = data => {
        const index = load(data);
        const docs = Object.values(data.documentStore.docs);
        index.search = text => {
            const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
            return docs
                .map(doc => ({ ref: doc.id, doc, scores: terms.map(term => score(doc, term)) }))
                .filter(({ scores }) => scores.length > 0 && scores.every(Boolean))
                .map(({ ref, doc, scores }) => ({ ref, doc, score: scores.reduce((a, b) => a + b) }))
                .sort((a, b) => b.score - a.score);
        };
        return index;
    };
})();
