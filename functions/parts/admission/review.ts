import * as z from "zod";
import { Service } from "#core/service/service.ts";

const API_VERSION = "admission.k8s.io/v1";

const Loose = z.looseObject({ metadata: z.looseObject({}) });

/** A Service under review has no version, and may have no creation time. */
const ReviewedService = z.preprocess((object) => {
  const loose = Loose.safeParse(object).data;
  if (loose === undefined) return object;
  const { creationTimestamp, ...metadata } = loose.metadata;
  return {
    ...loose,
    metadata: { resourceVersion: "0", ...metadata, creationTimestamp: creationTimestamp ?? "" },
  };
}, Service);

/** An API server's admission review of a Service. */
export const AdmissionReview = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal("AdmissionReview"),
  request: z.object({
    uid: z.string().min(1).max(128),
    kind: z.object({ group: z.literal(""), version: z.literal("v1"), kind: z.literal("Service") }),
    operation: z.enum(["CREATE", "UPDATE"]),
    object: ReviewedService,
    oldObject: ReviewedService.nullish(),
  }),
});
export type AdmissionReview = z.output<typeof AdmissionReview>;

/** Builds the answer: allowed, or denied with a sentence for the Service's author. */
export function buildAdmissionResponse(
  { request: { uid } }: AdmissionReview,
  denial: string | undefined,
): Readonly<Record<string, unknown>> {
  const response =
    denial === undefined
      ? { uid, allowed: true }
      : { uid, allowed: false, status: { code: 422, reason: "Invalid", message: denial } };
  return { apiVersion: API_VERSION, kind: "AdmissionReview", response };
}
