import { annotationOf, type Said } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Problem } from "#core/service/model.ts";

/** The shape of a load balancer, in the API's words. */
export interface WantedShape {
  readonly shapeName: string;
  readonly shapeDetails?: {
    readonly minimumBandwidthInMbps: number;
    readonly maximumBandwidthInMbps: number;
  };
}

/** The shape that annotations ask for, or why there is none. */
export type ReadShape =
  | { readonly kind: "read"; readonly shape: WantedShape }
  | { readonly kind: "refused"; readonly problem: Problem };

/** As in the stock controller; the API knows the word in lower case alone. */
const DEFAULT_SHAPE = "100Mbps";
const FLEXIBLE = "flexible";

/** Reads the shape: a fixed one by its name, or a flexible one with its limits, of which the upper is at least the lower. */
export function readShape({ shape = DEFAULT_SHAPE, shapeFlexMin, shapeFlexMax }: Said): ReadShape {
  if (shape.toLowerCase() !== FLEXIBLE) return { kind: "read", shape: { shapeName: shape } };
  if (shapeFlexMin === undefined) return missing("shapeFlexMin");
  if (shapeFlexMax === undefined) return missing("shapeFlexMax");
  const maximumBandwidthInMbps = Math.max(shapeFlexMin, shapeFlexMax);
  const shapeDetails = { minimumBandwidthInMbps: shapeFlexMin, maximumBandwidthInMbps };
  return { kind: "read", shape: { shapeName: FLEXIBLE, shapeDetails } };
}

/** Whether a load balancer may stay as it is: a flexible one is not made one of a fixed shape again. */
export function isShaped(
  { shapeName, shapeDetails }: WantedShape,
  there: {
    readonly shapeName?: string | null | undefined;
    readonly shapeDetails?: WantedShape["shapeDetails"] | null | undefined;
  },
): boolean {
  if (shapeDetails === undefined)
    return (
      there.shapeName?.toLowerCase() === FLEXIBLE ||
      there.shapeName?.toLowerCase() === shapeName.toLowerCase()
    );
  return (
    there.shapeName?.toLowerCase() === FLEXIBLE &&
    there.shapeDetails?.minimumBandwidthInMbps === shapeDetails.minimumBandwidthInMbps &&
    there.shapeDetails.maximumBandwidthInMbps === shapeDetails.maximumBandwidthInMbps
  );
}

function missing(saying: "shapeFlexMin" | "shapeFlexMax"): ReadShape {
  const allowed = "a number of megabits per second such as 10, because the shape is flexible";
  return {
    kind: "refused",
    problem: { code: "InvalidAnnotation", field: annotationOf("lb", saying), allowed },
  };
}
