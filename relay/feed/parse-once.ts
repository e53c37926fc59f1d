import type { Parsed, Watch } from "#core/controller.ts";

/**
 * The same watch halves; those that parse alike share what is parsed, for as long as the object itself is held by somebody:
 * controllers of one resource see one object after another, and parsing is what an event costs most.
 */
export function parsingOnce(watches: readonly Watch[]): readonly Watch[] {
  const shared = new Map<Watch["parse"], Watch["parse"]>();
  return watches.map((watch) => {
    if (watches.filter(({ parse }) => parse === watch.parse).length === 1) return watch;
    const parse = shared.get(watch.parse) ?? remembering(watch.parse);
    shared.set(watch.parse, parse);
    return { ...watch, parse };
  });
}

function remembering(parse: Watch["parse"]): Watch["parse"] {
  const seen = new WeakMap<object, ReturnType<Watch["parse"]>>();
  return (value) => {
    if (typeof value !== "object" || value === null) return parse(value);
    const parsed: Parsed<never> | ReturnType<Watch["parse"]> = seen.get(value) ?? parse(value);
    seen.set(value, parsed);
    return parsed;
  };
}
