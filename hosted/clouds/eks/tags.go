package eks

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// tags sets the tags of a cluster or a node group.
type tags struct{ api *eks.Client }

// set sets some keys and removes others, in two requests. For tags, EKS has no operations, no tokens and
// no versions. So set reads the tags before, compares them with those that the decision was based on, and
// reads them again afterwards. It reports what somebody else has set meanwhile. Only changes in the moments
// between these requests can be lost.
func (t tags) set(ctx context.Context, r request) (*types.Update, error) {
	wanted := r.config.Tags
	if r.Item != "" {
		wanted = r.group.Tags
	}
	now, err := t.list(ctx, r.arn)
	if err != nil {
		return nil, err
	}
	for key, value := range wanted {
		// After a crash, it may have the wanted value already.
		if !equal(now, key, r.tags[key]) && !equal(now, key, value) {
			return nil, fmt.Errorf("%w: the tag %s changed after the read", cloud.ErrBusy, key)
		}
	}
	set, remove := split(wanted)
	if len(remove) > 0 {
		if _, err := t.api.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: &r.arn, TagKeys: remove}); err != nil {
			return nil, err
		}
	}
	if len(set) > 0 {
		if _, err := t.api.TagResource(ctx, &eks.TagResourceInput{ResourceArn: &r.arn, Tags: set}); err != nil {
			return nil, err
		}
	}
	return nil, t.verify(ctx, r.arn, wanted)
}

func (t tags) verify(ctx context.Context, arn string, wanted map[string]*string) error {
	now, err := t.list(ctx, arn)
	if err != nil {
		return err
	}
	for key, value := range wanted {
		if !equal(now, key, value) {
			return fmt.Errorf("the tag %s was sent, but has changed: somebody else sets it, too", key)
		}
	}
	return nil
}

func (t tags) list(ctx context.Context, arn string) (map[string]string, error) {
	out, err := t.api.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		return nil, err
	}
	return out.Tags, nil
}

// equal reports whether a key has the value; nil means that the key is absent.
func equal(tags map[string]string, key string, value *string) bool {
	has, ok := tags[key]
	return ok == (value != nil) && has == aws.ToString(value)
}
