import * as z from "zod";

/** Links and actions of a resource: URLs by name. */
const Urls = z.record(z.string(), z.string());

/** A collection; items are parsed one by one. */
export const Collection = z.object({
  type: z.literal("collection"),
  data: z.array(z.unknown()),
  pagination: z.object({ next: z.string().nullish() }).nullish(),
});

/** A type of resources and its links. */
export const Schema = z.object({ id: z.string(), links: Urls.nullish() });

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
