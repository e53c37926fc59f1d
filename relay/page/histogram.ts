import type { Bucket } from "#relay/page/cluster-facts.ts";
import { html, type Markup } from "#relay/page/html.ts";

const BAR_WIDTH = 8;
const HEIGHT = 24;

/** Renders a histogram as bars and as text. Buckets are in order, and each includes those before it. */
export function renderHistogram(buckets: readonly Bucket[]): Markup {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return html`none yet`;
  const own = buckets.map(({ seconds, count }, index) => ({
    within: formatBound(seconds, buckets),
    count: count - (buckets[index - 1]?.count ?? 0),
  }));
  const most = Math.max(...own.map(({ count }) => count));
  const bars = own.flatMap(({ within: label, count }, index) =>
    count === 0 ? [] : [renderBar(index, count / most, `${label}: ${count}`)],
  );
  const words = `${total} joined, half ${formatQuantile(buckets, 0.5)}, 99 % ${formatQuantile(buckets, 0.99)}`;
  const width = buckets.length * BAR_WIDTH;
  return html`<svg role="img" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}"><title>${words}</title>${bars}</svg><small>${words}</small>`;
}

/** Renders a bar that is visible if its bucket is not empty, however small the value. */
function renderBar(index: number, part: number, words: string): Markup {
  const height = Math.max(1, Math.round(part * HEIGHT));
  const y = HEIGHT - height;
  return html`<rect x="${index * BAR_WIDTH}" y="${y}" width="${BAR_WIDTH - 1}" height="${height}"><title>${words}</title></rect>`;
}

/** Formats a quantile as the bounds of its bucket; a histogram knows no more. */
function formatQuantile(buckets: readonly Bucket[], part: number): string {
  const total = buckets.at(-1)?.count ?? 0;
  const bucket = buckets.find(({ count }) => count >= total * part);
  return formatBound(bucket?.seconds ?? Number.POSITIVE_INFINITY, buckets);
}

function formatBound(seconds: number, buckets: readonly Bucket[]): string {
  return Number.isFinite(seconds) ? `within ${seconds} s` : `after ${buckets.at(-2)?.seconds ?? 0} s`;
}
