import * as z from "zod";
import { parseJson } from "#core/parse-json.ts";
import {
  CERTIFICATE_SIGNING_REQUESTS,
  formatObjectKey,
  getApiGroup,
  NODES,
  type ObjectName,
  SERVICES,
} from "#core/resources/resource.ts";
import { mergeNames, type TouchedObjects } from "#sweep/touched.ts";

/** The resources that an audit webhook may report. */
export const AUDITED = [NODES, SERVICES, CERTIFICATE_SIGNING_REQUESTS] as const;

/** The verbs that change objects. */
export const AUDITED_VERBS = ["create", "update", "patch", "delete", "deletecollection"] as const;

/** The objects that a list of audit events reports as touched. */
export interface ReportedObjects {
  readonly touched: TouchedObjects;
  /** Events left out, because they are malformed. */
  readonly malformed: number;
  /** Events left out, because they change no object that a controller works on. */
  readonly ignored: number;
}

/** Characters of a list that are parsed. A list of 400 events, kube-apiserver's default, has some 600 KB. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Events of a list that are read. */
const MAX_EVENTS = 4_000;

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The fields of an audit event that are read; all others are neither trusted nor needed. */
const AuditEvent = z.object({
  verb: z.string().max(64),
  stage: z.string().max(64),
  objectRef: z
    .object({
      apiGroup: z.string().max(253).optional(),
      resource: z.string().max(253).optional(),
      subresource: z.string().max(253).optional(),
      namespace: z.string().regex(NAMESPACE).optional(),
      name: z.string().regex(NAME).optional(),
    })
    .optional(),
});
type AuditEvent = z.output<typeof AuditEvent>;

const EventList = z.object({
  apiVersion: z.literal("audit.k8s.io/v1"),
  kind: z.literal("EventList"),
  items: z.array(z.unknown()).nullish(),
});

/**
 * Parses a list of audit events; undefined for any other text. It proves only that objects may have changed.
 * A list beyond the limits counts as a report of every object.
 */
export function parseEventList(text: string): ReportedObjects | undefined {
  if (text.length > MAX_CHARACTERS) return EVERYTHING;
  const list = EventList.safeParse(parseJson(text)).data;
  if (list === undefined) return undefined;
  const items = list.items ?? [];
  if (items.length > MAX_EVENTS) return EVERYTHING;
  const found = new Map<string, Map<string, ObjectName> | "all">();
  let malformed = 0;
  let ignored = 0;
  for (const item of items) {
    const event = AuditEvent.safeParse(item).data;
    const resource = event && findResource(event);
    if (event === undefined) malformed += 1;
    else if (resource === undefined) ignored += 1;
    else {
      const { namespace, name } = event.objectRef ?? {};
      const names = found.get(resource.name) ?? new Map<string, ObjectName>();
      found.set(resource.name, names);
      // A generated name is not known when the request is recorded, and a collection has no name.
      if (name === undefined || resource.namespaced !== (namespace !== undefined))
        found.set(resource.name, "all");
      else if (names !== "all") {
        const object = { name, ...(namespace === undefined ? {} : { namespace }) };
        names.set(formatObjectKey(object), object);
      }
    }
  }
  const touched = new Map([...found].map(([resource, names]) => [resource, mergeNames([names])]));
  return { touched, malformed, ignored };
}

function findResource({ verb, stage, objectRef }: AuditEvent): (typeof AUDITED)[number] | undefined {
  if (objectRef === undefined || objectRef.subresource !== undefined || stage !== "ResponseComplete")
    return undefined;
  if (!(AUDITED_VERBS as readonly string[]).includes(verb)) return undefined;
  const { resource, apiGroup = "" } = objectRef;
  return AUDITED.find((each) => each.name === resource && getApiGroup(each) === apiGroup);
}

const EVERYTHING: ReportedObjects = {
  touched: new Map(AUDITED.map(({ name }) => [name, "all"])),
  malformed: 0,
  ignored: 0,
};
