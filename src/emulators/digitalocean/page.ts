import {
  type Answer,
  buildJsonAnswer,
  type FakeRequest,
  type Refuse,
} from "#emulators/digitalocean/answer.ts";

/**
 * Builds one page of a list, as `page` and `per_page` of the request say; parameters other than `known` ones
 * are rejected.
 */
export function buildPage<Item>(
  { path, query }: FakeRequest,
  refuse: Refuse,
  list: {
    readonly key: string;
    readonly known: readonly string[];
    readonly items: readonly Item[];
    readonly rendered: (item: Item) => unknown;
  },
): Answer {
  const { page = "1", per_page: size = "20", ...others } = query;
  const unknown = Object.keys(others).find((key) => !list.known.includes(key));
  if (unknown !== undefined) return refuse(422, "unprocessable_entity", `parameter ${unknown}`);
  if (!isWithin(page, 1, 10_000) || !isWithin(size, 1, 200))
    return refuse(422, "unprocessable_entity", "page or per_page");
  const [number, perPage] = [Number(page), Number(size)];
  const last = Math.max(1, Math.ceil(list.items.length / perPage));
  const link = (to: number): string => `https://api.digitalocean.com${path}?page=${to}&per_page=${perPage}`;
  const forward = number < last ? { next: link(number + 1), last: link(last) } : {};
  const back = number > 1 ? { first: link(1), prev: link(number - 1) } : {};
  return buildJsonAnswer(200, {
    [list.key]: list.items.slice((number - 1) * perPage, number * perPage).map(list.rendered),
    links: last === 1 ? {} : { pages: { ...back, ...forward } },
    meta: { total: list.items.length },
  });
}

function isWithin(text: string, from: number, to: number): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= from && Number(text) <= to;
}
