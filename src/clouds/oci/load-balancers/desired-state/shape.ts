import { type AnnotationSettings, findAnnotation } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Issue } from "#core/service/model.ts";

/** The shape of a load balancer, in the API's terms. */
export interface DesiredShape {
  readonly shapeName: string;
  readonly shapeDetails?: {
    readonly minimumBandwidthInMbps: number;
    readonly maximumBandwidthInMbps: number;
  };
}

/** The shape that annotations request, or why it is invalid. */
export type ShapeResult =
  | { readonly kind: "read"; readonly shape: DesiredShape }
  | { readonly kind: "refused"; readonly issue: Issue };

/** As in the stock controller; the API accepts only lower case. */
const DEFAULT_SHAPE = "100Mbps";
const FLEXIBLE = "flexible";

/**
 * Reads the shape: a fixed one by name, or a flexible one with its limits, of which the maximum is at least
 * the minimum.
 */
export function readShape({
  shape = DEFAULT_SHAPE,
  shapeFlexMin,
  shapeFlexMax,
}: AnnotationSettings): ShapeResult {
  if (shape.toLowerCase() !== FLEXIBLE) return { kind: "read", shape: { shapeName: shape } };
  if (shapeFlexMin === undefined) return rejectMissing("shapeFlexMin");
  if (shapeFlexMax === undefined) return rejectMissing("shapeFlexMax");
  const maximumBandwidthInMbps = Math.max(shapeFlexMin, shapeFlexMax);
  const shapeDetails = { minimumBandwidthInMbps: shapeFlexMin, maximumBandwidthInMbps };
  return { kind: "read", shape: { shapeName: FLEXIBLE, shapeDetails } };
}

/** Whether a load balancer's shape may stay: a flexible one never becomes a fixed one again. */
export function isShaped(
  { shapeName, shapeDetails }: DesiredShape,
  current: {
    readonly shapeName?: string | null | undefined;
    readonly shapeDetails?: DesiredShape["shapeDetails"] | null | undefined;
  },
): boolean {
  if (shapeDetails === undefined)
    return (
      current.shapeName?.toLowerCase() === FLEXIBLE ||
      current.shapeName?.toLowerCase() === shapeName.toLowerCase()
    );
  return (
    current.shapeName?.toLowerCase() === FLEXIBLE &&
    current.shapeDetails?.minimumBandwidthInMbps === shapeDetails.minimumBandwidthInMbps &&
    current.shapeDetails.maximumBandwidthInMbps === shapeDetails.maximumBandwidthInMbps
  );
}

function rejectMissing(setting: "shapeFlexMin" | "shapeFlexMax"): ShapeResult {
  const allowed = "a number of megabits per second such as 10, because the shape is flexible";
  return {
    kind: "refused",
    issue: { code: "InvalidAnnotation", field: findAnnotation("lb", setting), allowed },
  };
}
