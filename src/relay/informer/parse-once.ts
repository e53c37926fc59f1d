import type { ParsedObject, Watch } from "#core/controller.ts";

/**
 * Returns watch halves that share one parsed object while any of them holds it. Controllers of one resource
 * see each object in turn, and parsing is the largest cost of an event.
 */
export function shareParsing(watches: readonly Watch[]): readonly Watch[] {
  const shared = new Map<Watch["parse"], Watch["parse"]>();
  return watches.map((watch) => {
    if (watches.filter(({ parse }) => parse === watch.parse).length === 1) return watch;
    const parse = shared.get(watch.parse) ?? memoizeParse(watch.parse);
    shared.set(watch.parse, parse);
    return { ...watch, parse };
  });
}

function memoizeParse(parse: Watch["parse"]): Watch["parse"] {
  const seen = new WeakMap<object, ReturnType<Watch["parse"]>>();
  return (value) => {
    if (typeof value !== "object" || value === null) return parse(value);
    const parsed: ParsedObject<never> | ReturnType<Watch["parse"]> = seen.get(value) ?? parse(value);
    seen.set(value, parsed);
    return parsed;
  };
}
