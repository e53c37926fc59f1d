import type { Bucket } from "#relay/page/cluster-facts.ts";
import { html, type Markup } from "#relay/page/html.ts";

const BAR_WIDTH = 8;
const HEIGHT = 24;

/** A histogram as a picture of bars and in words; buckets are in order, and each counts those before it as well. */
export function histogram(buckets: readonly Bucket[]): Markup {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return html`none yet`;
  const own = buckets.map(({ seconds, count }, index) => ({
    within: within(seconds, buckets),
    count: count - (buckets[index - 1]?.count ?? 0),
  }));
  const most = Math.max(...own.map(({ count }) => count));
  const bars = own.flatMap(({ within: label, count }, index) =>
    count === 0 ? [] : [bar(index, count / most, `${label}: ${count}`)],
  );
  const words = `${total} joined, half ${quantile(buckets, 0.5)}, 99 % ${quantile(buckets, 0.99)}`;
  const width = buckets.length * BAR_WIDTH;
  return html`<svg role="img" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}"><title>${words}</title>${bars}</svg><small>${words}</small>`;
}

/** A bucket with anything in it is seen, however little that is. */
function bar(index: number, part: number, words: string): Markup {
  const height = Math.max(1, Math.round(part * HEIGHT));
  const y = HEIGHT - height;
  return html`<rect x="${index * BAR_WIDTH}" y="${y}" width="${BAR_WIDTH - 1}" height="${height}"><title>${words}</title></rect>`;
}

/** A histogram knows no more of a quantile than the bucket that it is in. */
function quantile(buckets: readonly Bucket[], part: number): string {
  const total = buckets.at(-1)?.count ?? 0;
  const bucket = buckets.find(({ count }) => count >= total * part);
  return within(bucket?.seconds ?? Number.POSITIVE_INFINITY, buckets);
}

function within(seconds: number, buckets: readonly Bucket[]): string {
  return Number.isFinite(seconds) ? `within ${seconds} s` : `after ${buckets.at(-2)?.seconds ?? 0} s`;
}
