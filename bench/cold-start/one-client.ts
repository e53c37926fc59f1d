// The comparison for a function's load time: EC2's client with the commands that the node function sends.
export {
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  DescribeInstanceTopologyCommand,
  DescribeNetworkInterfacesCommand,
  EC2Client,
} from "@aws-sdk/client-ec2";
