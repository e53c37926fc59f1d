import * as z from "zod";
import { Service } from "#core/service/service.ts";

const API_VERSION = "admission.k8s.io/v1";

const Loose = z.looseObject({ metadata: z.looseObject({}) });

/** A Service that is not written yet has no version, and may have no time either. */
const Reviewed = z.preprocess((object) => {
  const loose = Loose.safeParse(object).data;
  if (loose === undefined) return object;
  const { creationTimestamp, ...metadata } = loose.metadata;
  return {
    ...loose,
    metadata: { resourceVersion: "0", ...metadata, creationTimestamp: creationTimestamp ?? "" },
  };
}, Service);

/** What an API server asks a webhook about a Service. */
export const AdmissionReview = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal("AdmissionReview"),
  request: z.object({
    uid: z.string().min(1).max(128),
    kind: z.object({ group: z.literal(""), version: z.literal("v1"), kind: z.literal("Service") }),
    operation: z.enum(["CREATE", "UPDATE"]),
    object: Reviewed,
    oldObject: Reviewed.nullish(),
  }),
});
export type AdmissionReview = z.output<typeof AdmissionReview>;

/** The answer: go on, or a sentence that is shown to whoever wrote the Service. */
export function answerTo(
  { request: { uid } }: AdmissionReview,
  denial: string | undefined,
): Readonly<Record<string, unknown>> {
  const response =
    denial === undefined
      ? { uid, allowed: true }
      : { uid, allowed: false, status: { code: 422, reason: "Invalid", message: denial } };
  return { apiVersion: API_VERSION, kind: "AdmissionReview", response };
}
