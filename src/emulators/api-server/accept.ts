import type { Verb } from "#emulators/api-server/request-info.ts";
import { createNotAcceptable, type Refusal } from "#emulators/api-server/status.ts";

/** How objects are rendered: complete, only their metadata, or as the rows that kubectl prints. */
export type Representation = "object" | "partial" | "table" | Mismatch;

/** A form that the answer cannot have. The server notices it only once it has carried out the request. */
export interface Mismatch {
  readonly refusal: Refusal;
}

/** Returns the first supported representation in the Accept header; all answers are JSON. */
export function selectRepresentation(accept: string | undefined, verb: Verb): Representation {
  const wishes = (accept ?? "").split(",").map((wish) => wish.trim());
  for (const wish of wishes) {
    const [type = "", ...parameters] = wish.split(";").map((part) => part.trim());
    if (!JSON_TYPES.includes(type)) continue;
    const as = parameters.find((parameter) => parameter.startsWith("as="))?.slice(3);
    if (as === undefined) return "object";
    if (as === "Table" && parameters.includes("v=v1") && verb !== "watch") return "table";
    if (as === "PartialObjectMetadata" && verb === "list") return createMismatch(as, "is a list");
    if (as === "PartialObjectMetadataList" && verb !== "list" && verb !== "watch")
      return createMismatch(as, "is not a list");
    if (as === "PartialObjectMetadata" || (as === "PartialObjectMetadataList" && verb === "list")) {
      return "partial";
    }
  }
  throw createNotAcceptable("406: Not Acceptable\n\nAvailable representations: application/json", true);
}

function createMismatch(as: string, what: string): Mismatch {
  return { refusal: createNotAcceptable(`you requested ${as}, but the requested object ${what}`, false) };
}

const JSON_TYPES = ["", "*/*", "application/*", "application/json"];
