import type { Verb } from "#emulators/api-server/request-info.ts";
import { createNotAcceptable } from "#emulators/api-server/status.ts";

/** How objects are rendered: complete, only their metadata, or as the rows that kubectl prints. */
export type Representation = "object" | "partial" | "table";

/** Returns the first supported representation in the Accept header; all answers are JSON. */
export function selectRepresentation(accept: string | undefined, verb: Verb): Representation {
  const wishes = (accept ?? "").split(",").map((wish) => wish.trim());
  for (const wish of wishes) {
    const [type = "", ...parameters] = wish.split(";").map((part) => part.trim());
    if (!JSON_TYPES.includes(type)) continue;
    const as = parameters.find((parameter) => parameter.startsWith("as="))?.slice(3);
    if (as === undefined) return "object";
    if (as === "Table" && parameters.includes("v=v1") && verb !== "watch") return "table";
    if (as === "PartialObjectMetadata" && verb === "list") {
      throw createNotAcceptable(
        "you requested PartialObjectMetadata, but the requested object is a list",
        false,
      );
    }
    if (as === "PartialObjectMetadata" || (as === "PartialObjectMetadataList" && verb === "list")) {
      return "partial";
    }
  }
  throw createNotAcceptable("406: Not Acceptable\n\nAvailable representations: application/json", true);
}

const JSON_TYPES = ["", "*/*", "application/*", "application/json"];
