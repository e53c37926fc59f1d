import * as z from "zod";
import type { Api, ApiAnswer, ApiRequest } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/**
 * The API of a Rancher 1.x environment. It names its own URLs: links are followed, on the configured host
 * only.
 */
export interface Cattle {
  /** Returns the link at which resources of a type are listed and created. */
  readCollectionLink(type: string, callContext: CallContext): Promise<Outcome<string>>;
  /** Lists all resources of a collection: every page, or a fault. */
  list<Item extends z.ZodType>(
    link: string,
    query: Readonly<Record<string, string>>,
    item: Item,
    callContext: CallContext,
  ): Promise<Outcome<readonly z.output<Item>[]>>;
  /** Sends a request to a link. */
  send(
    link: string,
    request: Omit<ApiRequest, "path">,
    callContext: CallContext,
  ): Promise<Outcome<ApiAnswer>>;
}

const PAGE_SIZE = 1_000;

const MAX_PAGES = 20;

/** Maximum length of a link, so that a server with endless links is not followed forever. */
const MAX_LINK = 4_096;

/**
 * Creates the client. `server` is the configured URL; the API is at its host under `/v2-beta`, in the project
 * of the URL if there is one.
 */
export function createCattle(api: Api, server: string): Cattle {
  const { origin } = new URL(server);
  const root = getApiRoot(server);
  let schemas: ReadonlyMap<string, string> | undefined;

  const getPath = (link: string): Outcome<string> => {
    const url =
      link.length <= MAX_LINK && URL.canParse(link, `${origin}/`) ? new URL(link, `${origin}/`) : undefined;
    if (url !== undefined && url.origin === origin) return ok(`${url.pathname}${url.search}`);
    const where = url === undefined ? "no URL" : url.origin;
    const message = `Rancher links to ${where}, and only ${origin} is followed; see the setting api.host of Rancher`;
    return fault("Denied", message);
  };

  const send = async (link: string, request: Omit<ApiRequest, "path">, callContext: CallContext) => {
    const path = getPath(link);
    return path.kind === "fault" ? path : api.send({ ...request, path: path.value }, callContext);
  };

  const list = async <Item extends z.ZodType>(
    link: string,
    query: Readonly<Record<string, string>>,
    item: Item,
    callContext: CallContext,
  ): Promise<Outcome<readonly z.output<Item>[]>> => {
    const first = getPath(link);
    if (first.kind === "fault") return first;
    const [resource = "", linkQuery = ""] = first.value.split("?");
    const template = `GET …/${resource.split("/").at(-1)}`;
    const parameters = new URLSearchParams(linkQuery);
    for (const [key, value] of Object.entries({ ...query, limit: String(PAGE_SIZE) }))
      parameters.set(key, value);
    let next = `${resource}?${parameters}`;
    const readPaths = new Set([next]);
    const items: z.output<Item>[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const answer = await api.get(
        { operation: `List ${resource.split("/").at(-1)}`, template, path: next },
        callContext,
      );
      if (answer.kind === "fault") return answer;
      const page = Collection.safeParse(answer.value).data;
      if (page === undefined) return fault("Unavailable", `${template}: the answer is not a collection`);
      for (const each of page.data) {
        const parsed = item.safeParse(each);
        if (!parsed.success) return fault("Unavailable", `${template}: an item lacks a required field`);
        items.push(parsed.data);
      }
      if (!page.pagination?.next) return ok(items);
      const path = getPath(page.pagination.next);
      if (path.kind === "fault") return path;
      if (readPaths.has(path.value))
        return fault("Unavailable", `${template}: the link to the next page repeats`);
      readPaths.add(path.value);
      next = path.value;
    }
    return fault("Unavailable", `${template}: more than ${MAX_PAGES} pages`);
  };

  const readSchemas = async (callContext: CallContext): Promise<Outcome<ReadonlyMap<string, string>>> => {
    const template = `GET ${root}`;
    const answer = await api.send({ operation: "Root", template, path: root }, callContext);
    if (answer.kind === "fault") return answer;
    const where = answer.value.headers["x-api-schemas"];
    if (where === undefined)
      return fault("Unavailable", `${template}: no header X-API-Schemas; is it Rancher 1.x?`);
    const listed = await list(where, {}, Schema, callContext);
    if (listed.kind === "fault") return listed;
    return ok(
      new Map(
        listed.value.flatMap(({ id, links }) => (links?.["collection"] ? [[id, links["collection"]]] : [])),
      ),
    );
  };

  return {
    list,
    send,
    async readCollectionLink(type, callContext) {
      if (schemas === undefined) {
        const read = await readSchemas(callContext);
        if (read.kind === "fault") return read;
        schemas = read.value;
      }
      const link = schemas.get(type);
      if (link !== undefined) return ok(link);
      // Resources that the keys may not read have no schema; the keys may get more rights later.
      schemas = undefined;
      return fault("Denied", `Rancher shows no collection of ${type}: see what the access key is for`);
    },
  };
}

/** Converts `/v1/projects/1a5` to `/v2-beta/projects/1a5`, whatever precedes it. */
function getApiRoot(server: string): string {
  const project = /\/projects\/([\w-]+)/.exec(new URL(server).pathname)?.[1];
  return project === undefined ? "/v2-beta" : `/v2-beta/projects/${project}`;
}

/** Links and actions of a resource: URLs by name. */
const Urls = z.record(z.string(), z.string());

/** A collection; items are parsed one by one. */
const Collection = z.object({
  type: z.literal("collection"),
  data: z.array(z.unknown()),
  pagination: z.object({ next: z.string().nullish() }).nullish(),
});

/** A type of resources and its links. */
const Schema = z.object({ id: z.string(), links: Urls.nullish() });

/** An environment. */
export const Project = z.object({ id: z.string().min(1).max(64), name: z.string().max(255).nullish() });

/** A machine of an environment. */
export const Host = z.object({
  id: z.string().min(1),
  uuid: z.string().min(1).max(128),
  hostname: z.string().nullish(),
  state: z.string().nullish(),
  links: Urls,
});
export type Host = z.output<typeof Host>;

export const IpAddress = z.object({ address: z.string().nullish() });
