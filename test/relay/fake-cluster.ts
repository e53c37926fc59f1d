import type { Transport } from "#kube/client/transport.ts";
import { createFakeApi, type FakeApi } from "#test/kube/apply/fake-api.ts";

/** Creates an API server in memory with a collection for each of these plurals. */
export function createFakeCluster<Plural extends string>(
  ...plurals: readonly Plural[]
): { readonly transport: Transport; readonly collections: Readonly<Record<Plural, FakeApi>> } {
  const collections = Object.fromEntries(plurals.map((plural) => [plural, createFakeApi()])) as Record<
    Plural,
    FakeApi
  >;
  const of = (path: string): FakeApi => {
    const plural = path.split("?", 1)[0]?.split("/").at(-1) as Plural;
    const collection = collections[plural];
    if (collection === undefined) throw new Error(`unexpected request for ${path}`);
    return collection;
  };
  return {
    collections,
    transport: {
      send: (request) => of(request.path).send(request),
      stream: (request) => of(request.path).stream(request),
      close: () => Promise.resolve(),
    },
  };
}
